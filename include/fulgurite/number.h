#pragma once
#include <fulgurite/detail/requirements.h>

#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <type_traits>

#include <fulgurite/source_location.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

struct NumberProxy;
class Tensor;
class Int;
class Float;
class Bool;

template <class T>
concept CppInteger = std::integral<T> && !std::same_as<T, bool>;
template <class T>
concept CppNumber = CppInteger<T> || std::floating_point<T>;

namespace detail {
/// The value of a one-element integer tensor.
int64_t integer_of(const Tensor&, SourceLocation);

/// The operations on symbolic scalars; their names in traces are prims.add_numbers, …
enum class NumberOperation : uint8_t {
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  remainder,
  negate,
  minimum,
  maximum,
  square_root,
  to_float,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  logical_not
};
// Called only if an operand is a number proxy: recorded by the innermost tracer.
[[gnu::cold]] Int record_integer(NumberOperation, Int, Int);
[[gnu::cold]] Float record_float(NumberOperation, Float, Float);
[[gnu::cold]] Bool record_comparison(NumberOperation, Float, Float);
[[gnu::cold]] Bool record_comparison(NumberOperation, Int, Int);
[[gnu::cold]] Float record_conversion(Int);
// Fixes the value of a proxy in the trace being recorded and adds a guard.
[[gnu::cold]] int64_t concretize(Int);
[[gnu::cold]] double concretize(Float);
[[gnu::cold]] bool concretize(Bool);
[[gnu::cold]] int64_t floor_divide(int64_t, int64_t);
[[gnu::cold]] int64_t floor_remainder(int64_t, int64_t);
[[noreturn, gnu::cold]] void refuse_overflow();
[[noreturn, gnu::cold]] void refuse_unsigned(uint64_t);
/// The integer as int64_t; a UserError if it does not fit.
template <CppInteger T>
constexpr int64_t exact_integer(T value) {
  if constexpr (std::is_unsigned_v<T> && sizeof(T) >= sizeof(int64_t))
    if (value > static_cast<T>(INT64_MAX)) [[unlikely]]
      refuse_unsigned(value);
  return static_cast<int64_t>(value);
}
// A size that overflows is an error, not another size.
inline int64_t exact_add(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_add_overflow(a, b, &result)) [[unlikely]]
    refuse_overflow();
  return result;
}
inline int64_t exact_subtract(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_sub_overflow(a, b, &result)) [[unlikely]]
    refuse_overflow();
  return result;
}
inline int64_t exact_multiply(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) [[unlikely]]
    refuse_overflow();
  return result;
}
[[noreturn, gnu::cold]] void refuse_division_by_zero();
inline int64_t exact_divide(int64_t a, int64_t b) {
  if (b == 0) [[unlikely]]
    refuse_division_by_zero();
  return b == -1 ? exact_subtract(0, a) : a / b;
}
inline int64_t exact_remainder(int64_t a, int64_t b) {
  if (b == 0) [[unlikely]]
    refuse_division_by_zero();
  return b == -1 ? 0 : a % b;
}
}  // namespace detail

/// An int64_t, or while tracing with symbolic values the proxy of one. Outside tracing it costs as much as an int64_t.
class Int {
 public:
  constexpr Int() = default;
  template <CppInteger T>
  constexpr Int(T value) : value_(detail::exact_integer(value)) {}
  /// The value of a one-element integer tensor, as an argument of operators: `x.select(0, index)`. Reading it causes a
  /// graph break while tracing, as item() does.
  template <std::same_as<Tensor> T>
  Int(const T& tensor, SourceLocation at = SourceLocation::here()) : value_(detail::integer_of(tensor, at)) {}
  /// A symbol; `hint` is its value in the call being recorded.
  constexpr Int(int64_t hint, const NumberProxy* proxy) : value_(hint), proxy_(proxy) {}

  /// The C++ number; for a symbol, this fixes the value and adds a guard.
  constexpr operator int64_t() const {
    if (proxy_) [[unlikely]]
      return detail::concretize(*this);
    return value_;
  }
  bool is_symbolic() const { return proxy_ != nullptr; }
  const NumberProxy* proxy() const { return proxy_; }
  /// The value in the call being recorded, without a guard: for allocation and printing only.
  int64_t hint() const { return value_; }

 private:
  int64_t value_ = 0;
  const NumberProxy* proxy_ = nullptr;
};

/// A double, or the proxy of one.
class Float {
 public:
  constexpr Float() = default;
  template <CppNumber T>
  constexpr Float(T value) : value_(static_cast<double>(value)) {}
  Float(Int value) {
    if (value.is_symbolic()) [[unlikely]]
      *this = detail::record_conversion(value);
    else value_ = static_cast<double>(value.hint());
  }
  constexpr Float(double hint, const NumberProxy* proxy) : value_(hint), proxy_(proxy) {}
  constexpr operator double() const {
    if (proxy_) [[unlikely]]
      return detail::concretize(*this);
    return value_;
  }
  bool is_symbolic() const { return proxy_ != nullptr; }
  const NumberProxy* proxy() const { return proxy_; }
  double hint() const { return value_; }

 private:
  double value_ = 0;
  const NumberProxy* proxy_ = nullptr;
};

/// A bool, or the proxy of one.
class Bool {
 public:
  constexpr Bool() = default;
  template <std::same_as<bool> T>
  constexpr Bool(T value) : value_(value) {}
  constexpr Bool(bool hint, const NumberProxy* proxy) : value_(hint), proxy_(proxy) {}
  constexpr operator bool() const {
    if (proxy_) [[unlikely]]
      return detail::concretize(*this);
    return value_;
  }
  bool is_symbolic() const { return proxy_ != nullptr; }
  const NumberProxy* proxy() const { return proxy_; }
  bool hint() const { return value_; }

 private:
  bool value_ = false;
  const NumberProxy* proxy_ = nullptr;
};

/// The same by PyTorch's names, which no window system defines as macros.
using SymInt = Int;
using SymFloat = Float;
using SymBool = Bool;

namespace detail {
template <class T>
inline constexpr bool is_own_number = std::same_as<T, Int> || std::same_as<T, Float>;
template <class A, class B>
concept OwnPair = (is_own_number<A> && (CppNumber<B> || is_own_number<B>)) || (is_own_number<B> && CppNumber<A>);
template <class T>
inline constexpr bool is_integral_number = CppInteger<T> || std::same_as<T, Int>;
template <class A, class B>
using Common = std::conditional_t<is_integral_number<A> && is_integral_number<B>, Int, Float>;
}  // namespace detail

// Arithmetic and comparison of numbers if at least one is an Int, Float or Bool. Integer `/` and `%` round toward zero
// as in C++.
#define FULGURITE_NUMBER_ARITHMETIC(op, name)                                                               \
  template <class A, class B>                                                                               \
  requires detail::OwnPair<A, B>                                                                            \
  auto operator op(A a, B b)->detail::Common<A, B> {                                                        \
    const detail::Common<A, B> x(a), y(b);                                                                  \
    if (x.proxy() || y.proxy()) [[unlikely]] {                                                              \
      if constexpr (std::same_as<detail::Common<A, B>, Int>)                                                \
        return detail::record_integer(detail::NumberOperation::name, x, y);                                 \
      else return detail::record_float(detail::NumberOperation::name, x, y);                                \
    }                                                                                                       \
    if constexpr (std::same_as<detail::Common<A, B>, Int>) return detail::exact_##name(x.hint(), y.hint()); \
    else return x.hint() op y.hint();                                                                       \
  }
FULGURITE_NUMBER_ARITHMETIC(+, add)
FULGURITE_NUMBER_ARITHMETIC(-, subtract)
FULGURITE_NUMBER_ARITHMETIC(*, multiply)
FULGURITE_NUMBER_ARITHMETIC(/, divide)
#undef FULGURITE_NUMBER_ARITHMETIC

#define FULGURITE_NUMBER_COMPARISON(op, name)                                \
  template <class A, class B>                                                \
  requires detail::OwnPair<A, B> Bool operator op(A a, B b) {                \
    const detail::Common<A, B> x(a), y(b);                                   \
    if (x.proxy() || y.proxy()) [[unlikely]]                                 \
      return detail::record_comparison(detail::NumberOperation::name, x, y); \
    return x.hint() op y.hint();                                             \
  }
FULGURITE_NUMBER_COMPARISON(==, equal)
FULGURITE_NUMBER_COMPARISON(!=, not_equal)
FULGURITE_NUMBER_COMPARISON(<, less)
FULGURITE_NUMBER_COMPARISON(<=, less_equal)
FULGURITE_NUMBER_COMPARISON(>, greater)
FULGURITE_NUMBER_COMPARISON(>=, greater_equal)
#undef FULGURITE_NUMBER_COMPARISON

template <class A, class B>
requires(std::same_as<A, Int>&& detail::is_integral_number<B>) ||
    (std::same_as<B, Int> && CppInteger<A>)Int operator%(A a, B b) {
  const Int x(a), y(b);
  if (x.proxy() || y.proxy()) [[unlikely]]
    return detail::record_integer(detail::NumberOperation::remainder, x, y);
  return detail::exact_remainder(x.hint(), y.hint());
}
template <std::same_as<Int> T>
Int operator-(T a) {
  if (a.proxy()) [[unlikely]]
    return detail::record_integer(detail::NumberOperation::negate, a, a);
  return detail::exact_subtract(0, a.hint());
}
inline Float operator-(Float a) {
  if (a.proxy()) [[unlikely]]
    return detail::record_float(detail::NumberOperation::negate, a, a);
  return -a.hint();
}
template <class B>
requires detail::OwnPair<Int, B> Int& operator+=(Int& a, B b) { return a = a + b; }
template <class B>
requires detail::OwnPair<Int, B> Int& operator-=(Int& a, B b) { return a = a - b; }
template <class B>
requires detail::OwnPair<Int, B> Int& operator*=(Int& a, B b) { return a = a * b; }
template <class B>
requires detail::OwnPair<Int, B> Int& operator/=(Int& a, B b) { return a = a / b; }
inline Int& operator++(Int& a) { return a = a + 1; }
inline Int operator++(Int& a, int) {
  const Int before = a;
  a = a + 1;
  return before;
}
inline Int& operator--(Int& a) { return a = a - 1; }
inline Int operator--(Int& a, int) {
  const Int before = a;
  a = a - 1;
  return before;
}
template <class B>
requires detail::OwnPair<Float, B> Float& operator+=(Float& a, B b) { return a = a + b; }
template <class B>
requires detail::OwnPair<Float, B> Float& operator-=(Float& a, B b) { return a = a - b; }
template <class B>
requires detail::OwnPair<Float, B> Float& operator*=(Float& a, B b) { return a = a * b; }
template <class B>
requires detail::OwnPair<Float, B> Float& operator/=(Float& a, B b) { return a = a / b; }

inline bool operator==(Bool a, bool b) { return static_cast<bool>(a) == b; }
inline bool operator==(Bool a, Bool b) { return static_cast<bool>(a) == static_cast<bool>(b); }

/// Functions of scalars that may be symbolic; the result is symbolic if an operand is.
Float sqrt(Float);
Float sqrt(Int);
Int min(Int, Int);
Int max(Int, Int);
Float min(Float, Float);
Float max(Float, Float);

std::ostream& operator<<(std::ostream&, Int);
std::ostream& operator<<(std::ostream&, Float);
std::ostream& operator<<(std::ostream&, Bool);

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
