// The row functions of the operations of formulas: a table from operation and type to function, as the targets of the
// code generator have one from operation to text.
#include "executors/eager/kernels/elementwise/scalar_rows.h"

#include <array>
#include <cmath>
#include <concepts>
#include <cstring>
#include <utility>

#include "codegen/device_lib/activations.h"
#include "codegen/device_lib/angles.h"
#include "codegen/ir/scalar_op.h"
#include "executors/eager/kernels/common/rows.h"
#include "executors/eager/kernels/elementwise/division.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

constexpr double inverse_sqrt_2 = 0.70710678118654752440;
double gelu_tanh_divisor(double x) { return 1 + std::exp(-2 * sqrt_2_over_pi * x * (1 + tanh_cubic * x * x)); }

/// An operation on one element, or on sixteen lanes of f32.
template <ScalarOp op>
struct Element {};

// Functions of floating dtypes: sixteen lanes for f32, the C library for f64.
#define FULGURITE_FUNCTION(op, lanes_function, f64_function)                                \
  template <>                                                                               \
  struct Element<ScalarOp::op> {                                                            \
    FULGURITE_LANES apply(const Floats& x, const RowParameters&) { return lanes_function; } \
    static double apply(double x, const RowParameters&) { return f64_function; }            \
  };
FULGURITE_FUNCTION(sqrt, FULGURITE_KERNELS::sqrt(x), std::sqrt(x))
FULGURITE_FUNCTION(exp, FULGURITE_KERNELS::exp(x), std::exp(x))
FULGURITE_FUNCTION(exp2, FULGURITE_KERNELS::exp2(x), std::exp2(x))
FULGURITE_FUNCTION(expm1, FULGURITE_KERNELS::expm1(x), std::expm1(x))
FULGURITE_FUNCTION(log, FULGURITE_KERNELS::log(x), std::log(x))
FULGURITE_FUNCTION(log2, FULGURITE_KERNELS::log2(x), std::log2(x))
FULGURITE_FUNCTION(log10, FULGURITE_KERNELS::log10(x), std::log10(x))
FULGURITE_FUNCTION(log1p, FULGURITE_KERNELS::log1p(x), std::log1p(x))
FULGURITE_FUNCTION(sin, FULGURITE_KERNELS::sin(x), std::sin(x))
FULGURITE_FUNCTION(cos, FULGURITE_KERNELS::cos(x), std::cos(x))
FULGURITE_FUNCTION(tan, FULGURITE_KERNELS::tan(x), std::tan(x))
FULGURITE_FUNCTION(asin, FULGURITE_KERNELS::asin(x), std::asin(x))
FULGURITE_FUNCTION(acos, FULGURITE_KERNELS::acos(x), std::acos(x))
FULGURITE_FUNCTION(atan, FULGURITE_KERNELS::atan(x), std::atan(x))
FULGURITE_FUNCTION(tanh, FULGURITE_KERNELS::tanh(x), std::tanh(x))
FULGURITE_FUNCTION(erf, FULGURITE_KERNELS::erf(x), std::erf(x))
FULGURITE_FUNCTION(sigmoid, FULGURITE_KERNELS::sigmoid(x), 1 / (1 + std::exp(-x)))
FULGURITE_FUNCTION(silu, FULGURITE_KERNELS::silu(x), x / (1 + std::exp(-x)))
FULGURITE_FUNCTION(gelu, FULGURITE_KERNELS::gelu(x), x * 0.5 * std::erfc(-x * inverse_sqrt_2))
FULGURITE_FUNCTION(gelu_tanh, FULGURITE_KERNELS::gelu_tanh(x), x / gelu_tanh_divisor(x))
#undef FULGURITE_FUNCTION

#define FULGURITE_FUNCTION(op, lanes_function, f64_function)                                                 \
  template <>                                                                                                \
  struct Element<ScalarOp::op> {                                                                             \
    FULGURITE_LANES apply(const Floats& a, const Floats& b, const RowParameters&) { return lanes_function; } \
    static double apply(double a, double b, const RowParameters&) { return f64_function; }                   \
  };
FULGURITE_FUNCTION(atan2, FULGURITE_KERNELS::atan2(a, b), std::atan2(a, b))
FULGURITE_FUNCTION(copy_sign, FULGURITE_KERNELS::copy_sign(a, b), std::copysign(a, b))
FULGURITE_FUNCTION(gelu_backward, FULGURITE_KERNELS::gelu_backward(a, b),
                   a*(0.5 * std::erfc(-b * inverse_sqrt_2) + b * inverse_sqrt_2_pi * std::exp(-0.5 * b * b)))
#undef FULGURITE_FUNCTION
template <>
struct Element<ScalarOp::gelu_tanh_backward> {
  FULGURITE_LANES apply(const Floats& g, const Floats& x, const RowParameters&) { return gelu_tanh_backward(g, x); }
  static double apply(double g, double x, const RowParameters&) {
    const double s = 1 / gelu_tanh_divisor(x);
    return g * (s + x * s * (1 - s) * 2 * sqrt_2_over_pi * (1 + 3 * tanh_cubic * x * x));
  }
};

// Functions that integers have too: their arithmetic wraps around.
#define FULGURITE_FUNCTION(op, lanes_function, f64_function, integer_function)              \
  template <>                                                                               \
  struct Element<ScalarOp::op> {                                                            \
    FULGURITE_LANES apply(const Floats& x, const RowParameters&) { return lanes_function; } \
    static double apply(double x, const RowParameters&) { return f64_function; }            \
    template <Integer T>                                                                    \
    static T apply(T x, const RowParameters&) {                                             \
      return static_cast<T>(integer_function);                                              \
    }                                                                                       \
  };
FULGURITE_FUNCTION(negate, -x, -x, 0 - static_cast<Unsigned<T>>(x))
FULGURITE_FUNCTION(absolute, abs(x), std::fabs(x),
                   x < 0 ? 0 - static_cast<Unsigned<T>>(x) : static_cast<Unsigned<T>>(x))
FULGURITE_FUNCTION(sign, select(x > Floats(0.f), Floats(1.f), select(x < Floats(0.f), Floats(-1.f), Floats(0.f))),
                   double(x > 0) - double(x < 0), (x > 0) - (x < 0))
FULGURITE_FUNCTION(floor, FULGURITE_KERNELS::floor(x), std::floor(x), x)
FULGURITE_FUNCTION(ceil, FULGURITE_KERNELS::ceil(x), std::ceil(x), x)
FULGURITE_FUNCTION(round, round_to_even(x), std::nearbyint(x), x)
FULGURITE_FUNCTION(truncate, trunc(x), std::trunc(x), x)
#undef FULGURITE_FUNCTION

#define FULGURITE_FUNCTION(op, value)                                                               \
  template <>                                                                                       \
  struct Element<ScalarOp::op> {                                                                    \
    FULGURITE_LANES apply(const Floats& a, const Floats& b, const RowParameters&) { return value; } \
    static double apply(double a, double b, const RowParameters&) { return value; }                 \
    template <Integer T>                                                                            \
    static T apply(T x, T y, const RowParameters&) {                                                \
      const auto a = static_cast<Unsigned<T>>(x), b = static_cast<Unsigned<T>>(y);                  \
      return static_cast<T>(value);                                                                 \
    }                                                                                               \
  };
FULGURITE_FUNCTION(add, a + b)
FULGURITE_FUNCTION(subtract, a - b)
FULGURITE_FUNCTION(multiply, a* b)
#undef FULGURITE_FUNCTION
template <>
struct Element<ScalarOp::divide> {
  FULGURITE_LANES apply(const Floats& a, const Floats& b, const RowParameters&) { return a / b; }
  static double apply(double a, double b, const RowParameters&) { return a / b; }
  template <Integer T>
  static T apply(T a, T b, const RowParameters& p) {
    return quotient(a, b, p);
  }
};
template <>
struct Element<ScalarOp::remainder> : Fmod {};
template <>
struct Element<ScalarOp::maximum> : Maximum {};
template <>
struct Element<ScalarOp::minimum> : Minimum {};
template <>
struct Element<ScalarOp::multiply_add> {
  FULGURITE_LANES apply(const Floats& a, const Floats& b, const Floats& c, const RowParameters&) {
    return multiply_add(a, b, c);
  }
  static double apply(double a, double b, double c, const RowParameters&) { return multiply_add(a, b, c); }
};

#define FULGURITE_TEST(op, value) \
  template <>                     \
  struct Element<ScalarOp::op> {  \
    template <class T>            \
    static bool apply(T a, T b) { \
      return value;               \
    }                             \
  };
FULGURITE_TEST(equal, a == b)
FULGURITE_TEST(not_equal, a != b)
FULGURITE_TEST(less, a < b)
FULGURITE_TEST(less_equal, a <= b)
FULGURITE_TEST(greater, a > b)
FULGURITE_TEST(greater_equal, a >= b)
#undef FULGURITE_TEST

#define FULGURITE_BITS(op, value)                    \
  template <>                                        \
  struct Element<ScalarOp::op> {                     \
    template <Integer T>                             \
    static T apply(T a, T b, const RowParameters&) { \
      return static_cast<T>(value);                  \
    }                                                \
  };
FULGURITE_BITS(bit_and, a& b)
FULGURITE_BITS(bit_or, a | b)
FULGURITE_BITS(bit_xor, a ^ b)
#undef FULGURITE_BITS
template <>
struct Element<ScalarOp::bit_not> {
  template <Integer T>
  static T apply(T x, const RowParameters&) {
    return static_cast<T>(std::is_same_v<T, uint8_t> ? x == 0 : ~x);  // bytes are booleans
  }
};

/// operands[0] is a row of booleans; only bits move, so types of one size share a row function.
template <class T>
void select_row(const void* const* operands, void* result, int64_t count, const RowParameters&) {
  const uint8_t* __restrict condition = static_cast<const uint8_t*>(operands[0]);
  const T* __restrict a = static_cast<const T*>(operands[1]);
  const T* __restrict b = static_cast<const T*>(operands[2]);
  T* __restrict to = static_cast<T*>(result);
  for (int64_t i = 0; i < count; ++i) {
    const T x = a[i], y = b[i];
    to[i] = condition[i] ? x : y;
  }
}
template <>
void select_row<uint32_t>(const void* const* operands, void* result, int64_t count, const RowParameters&) {
  const uint8_t* condition = static_cast<const uint8_t*>(operands[0]);
  const int* a = static_cast<const int*>(operands[1]);
  const int* b = static_cast<const int*>(operands[2]);
  int* to = static_cast<int*>(result);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    store(to + i, select(load_bytes(condition + i) != Ints(0), load(a + i), load(b + i)));
  for (; i < count; ++i) to[i] = condition[i] ? a[i] : b[i];
}
template <>
void select_row<uint16_t>(const void* const* operands, void* result, int64_t count, const RowParameters&) {
  const uint8_t* condition = static_cast<const uint8_t*>(operands[0]);
  const uint16_t* a = static_cast<const uint16_t*>(operands[1]);
  const uint16_t* b = static_cast<const uint16_t*>(operands[2]);
  uint16_t* to = static_cast<uint16_t*>(result);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    store_halves(to + i, select(load_bytes(condition + i) != Ints(0), load_halves(a + i), load_halves(b + i)));
  for (; i < count; ++i) to[i] = condition[i] ? a[i] : b[i];
}
template <class T>
void copy_row(const void* const* operands, void* result, int64_t count, const RowParameters&) {
  std::memcpy(result, operands[0], static_cast<size_t>(count) * sizeof(T));
}

enum class Kind { none, unary, binary, ternary, comparison };
/// The kind of an element function for a type. (A comparison of a function with null is not constant in all builds.)
template <class Operation, class T>
consteval Kind kind_of() {
  using X = std::conditional_t<std::is_same_v<T, float>, Floats, T>;
  constexpr bool is_unary = requires(const X& x, const RowParameters& p) {
    { Operation::apply(x, p) } -> std::same_as<X>;
  };
  constexpr bool is_binary = requires(const X& x, const RowParameters& p) {
    { Operation::apply(x, x, p) } -> std::same_as<X>;
  };
  constexpr bool is_ternary = requires(const X& x, const RowParameters& p) {
    { Operation::apply(x, x, x, p) } -> std::same_as<X>;
  };
  if (is_unary) return Kind::unary;
  if (is_binary) return Kind::binary;
  if (is_ternary) return Kind::ternary;
  return requires(T x) { Operation::apply(x, x); }
  ? Kind::comparison : Kind::none;
}

/// The row function of an element function; null if it is not defined for the type.
template <class Operation, class T>
constexpr Row row_of() {
  constexpr Kind kind = kind_of<Operation, T>();
  if constexpr (kind == Kind::unary) return unary_row<Operation, T>;
  else if constexpr (kind == Kind::binary) return binary_row<Operation, T>;
  else if constexpr (kind == Kind::ternary) return ternary_row<Operation, T>;
  else if constexpr (kind == Kind::comparison) return comparison_row<Operation, T>;
  else return nullptr;
}

/// The row functions of one operation.
struct ScalarRows {
  Row floats, doubles, ints, longs, booleans;
};
template <class Operation>
constexpr ScalarRows rows_of() {
  ScalarRows rows = {row_of<Operation, float>(), row_of<Operation, double>(), row_of<Operation, int32_t>(),
                     row_of<Operation, int64_t>(), nullptr};
  if constexpr (kind_of<Operation, double>() == Kind::none) rows.booleans = row_of<Operation, uint8_t>();
  return rows;
}
template <size_t... ops>
constexpr std::array<ScalarRows, sizeof...(ops)> rows_of_all(std::index_sequence<ops...>) {
  return {rows_of<Element<static_cast<ScalarOp>(ops)>>()...};
}
constexpr auto table = rows_of_all(std::make_index_sequence<codegen::scalar_op_count>());

}  // namespace

Row find_copy_row(Dtype dtype) {
  switch (size_of(dtype)) {
    case 1: return copy_row<uint8_t>;
    case 2: return copy_row<uint16_t>;
    case 4: return copy_row<uint32_t>;
    default: return copy_row<uint64_t>;
  }
}

Row find_scalar_row(ScalarOp op, Dtype operands) {
  if (op == ScalarOp::select) {
    switch (size_of(operands)) {
      case 1: return select_row<uint8_t>;
      case 2: return select_row<uint16_t>;
      case 4: return select_row<uint32_t>;
      default: return select_row<uint64_t>;
    }
  }
  const ScalarRows& rows = table[static_cast<size_t>(op)];
  switch (operands) {
    case Dtype::f32: return rows.floats;
    case Dtype::f64: return rows.doubles;
    case Dtype::i32: return rows.ints;
    case Dtype::i64: return rows.longs;
    case Dtype::boolean: return rows.booleans;
    default: return nullptr;
  }
}

int64_t grain_of(ScalarOp op) {
  if (op == ScalarOp::remainder) return very_costly;
  return op > ScalarOp::sqrt ? costly : cheap;
}

}  // namespace fulgurite::FULGURITE_KERNELS
