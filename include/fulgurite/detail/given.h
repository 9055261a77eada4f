#pragma once
#include <fulgurite/detail/requirements.h>

#include <concepts>
#include <type_traits>
#include <utility>

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

/// The first member of options structures beside positional parameters: only `{.name = value}` makes one, so that
/// `{2, 1}` is never read as options.
struct NamedMembers {
  explicit NamedMembers() = default;
};

}  // namespace fulgurite::detail

#include <fulgurite/detail/restore_macros.h>
