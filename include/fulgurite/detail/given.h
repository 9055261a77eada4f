#pragma once
#include <fulgurite/detail/requirements.h>

#include <concepts>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

#include <fulgurite/detail/hide_macros.h>

namespace fulgurite::detail {

/// The first positional parameter beside an overload that accepts an options structure: any value of T, or braces that
/// initialize a T. `{}` is excluded, so that it means default options.
template <class T>
class Given {
 public:
  template <class... Arguments>
  requires(sizeof...(Arguments) > 0 && !(std::same_as<std::remove_cvref_t<Arguments>, Given> && ...) &&
           std::constructible_from<T, Arguments...>) Given(Arguments&&... arguments)
      : value_(std::forward<Arguments>(arguments)...) {}
  operator const T&() const { return value_; }

 private:
  T value_;
};

/// A vector that one number makes too: `{.padding = 1}`, `{.padding = {1, 2}}`.
template <class T>
struct Several : std::vector<T> {
  Several() = default;
  template <class N>
  requires std::is_arithmetic_v<N> Several(N number) : std::vector<T>{static_cast<T>(number)} {}
  Several(std::initializer_list<T> numbers) : std::vector<T>(numbers) {}
  Several(std::vector<T> numbers) : std::vector<T>(std::move(numbers)) {}
  /// As the plain vector that a visitor of parts sees.
  std::vector<T>& all() { return *this; }
  const std::vector<T>& all() const { return *this; }
};

/// The first member of options structures beside positional parameters: only `{.name = value}` makes one, so that
/// `{2, 1}` is never read as options.
struct NamedMembers {
  explicit NamedMembers() = default;
};

}  // namespace fulgurite::detail

#include <fulgurite/detail/restore_macros.h>
