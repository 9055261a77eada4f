#pragma once
#include <fulgurite/detail/requirements.h>

#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fulgurite/source_location.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

namespace fulgurite::detail {

// Deduces the signature of a callable that has exactly one.

template <class... T>
struct Types {
  static constexpr size_t count = sizeof...(T);
};

/// The stored type of an argument: `const Operand&` is a tensor, any other without reference and const.
template <class A>
using Stored = std::conditional_t<std::is_same_v<std::decay_t<A>, Operand>, Tensor, std::decay_t<A>>;

template <class A>
constexpr bool check_parameter() {
  static_assert(!std::is_lvalue_reference_v<A> || std::is_const_v<std::remove_reference_t<A>>,
                "fulgurite: a traced function takes its arguments by value or const reference; return what it changes");
  return true;
}

// The parameter types without a trailing SourceLocation.
template <class Taken, class... Rest>
struct DropLocation {
  using Parameters = Taken;
  static constexpr bool takes_location = false;
};
template <class... Taken>
struct DropLocation<Types<Taken...>, SourceLocation> {
  using Parameters = Types<Taken...>;
  static constexpr bool takes_location = true;
};
template <class... Taken, class First, class... Rest>
requires(!(sizeof...(Rest) == 0 &&
           std::is_same_v<First, SourceLocation>)) struct DropLocation<Types<Taken...>, First, Rest...>
    : DropLocation<Types<Taken..., First>, Rest...> {
};

template <class R, class... A>
struct FunctionType {
  static constexpr bool is_generic = false;
  using Result = std::decay_t<R>;
  using Dropped = DropLocation<Types<>, A...>;
  using Parameters = typename Dropped::Parameters;
  static constexpr bool takes_location = Dropped::takes_location;
};

template <class M>
struct MemberFunctionType;
#define FULGURITE_MEMBER_FUNCTION(qualifiers)                                                     \
  template <class C, class R, class... A>                                                         \
  struct MemberFunctionType<R (C::*)(A...) qualifiers> { /* NOLINT(bugprone-macro-parentheses) */ \
    using Type = FunctionType<R, A...>;                                                           \
  };
FULGURITE_MEMBER_FUNCTION()
FULGURITE_MEMBER_FUNCTION(const)
FULGURITE_MEMBER_FUNCTION(&)
FULGURITE_MEMBER_FUNCTION(const&)
FULGURITE_MEMBER_FUNCTION(noexcept)
FULGURITE_MEMBER_FUNCTION(const noexcept)
FULGURITE_MEMBER_FUNCTION(&noexcept)
FULGURITE_MEMBER_FUNCTION(const& noexcept)
#undef FULGURITE_MEMBER_FUNCTION

/// The signature of F; is_generic if it has overloads or `auto` parameters.
template <class F>
struct SignatureOf {
  static constexpr bool is_generic = true;
  static constexpr bool takes_location = false;
  using Parameters = void;
};
template <class F>
requires requires { &F::operator(); }
struct SignatureOf<F> : MemberFunctionType<decltype(&F::operator())>::Type {};
template <class R, class... A>
struct SignatureOf<R (*)(A...)> : FunctionType<R, A...> {};
template <class R, class... A>
struct SignatureOf<R (*)(A...) noexcept> : FunctionType<R, A...> {};
template <class T>
struct SignatureOf<std::reference_wrapper<T>> : SignatureOf<std::decay_t<T>> {};

}  // namespace fulgurite::detail

#include <fulgurite/detail/restore_macros.h>
