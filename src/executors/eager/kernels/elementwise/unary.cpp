// Pointwise operators of one operand.
#include <cmath>

#include "codegen/device_lib/angles.h"
#include "executors/eager/kernels.h"
#include "executors/eager/kernels/common/rows.h"
#include "ops/generated/symbols.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

// Functions of floating dtypes: sixteen lanes for f32, the C library for f64.
#define FULGURITE_FUNCTION(Name, lanes_function, f64_function)                              \
  struct Name {                                                                             \
    FULGURITE_LANES apply(const Floats& x, const RowParameters&) { return lanes_function; } \
    static double apply(double x, const RowParameters&) { return f64_function; }            \
  };
FULGURITE_FUNCTION(Exp, exp(x), std::exp(x))
FULGURITE_FUNCTION(Exp2, exp2(x), std::exp2(x))
FULGURITE_FUNCTION(Expm1, expm1(x), std::expm1(x))
FULGURITE_FUNCTION(Log, log(x), std::log(x))
FULGURITE_FUNCTION(Log2, log2(x), std::log2(x))
FULGURITE_FUNCTION(Log10, log10(x), std::log10(x))
FULGURITE_FUNCTION(Log1p, log1p(x), std::log1p(x))
FULGURITE_FUNCTION(Sqrt, sqrt(x), std::sqrt(x))
FULGURITE_FUNCTION(Rsqrt, Floats(1.f) / sqrt(x), 1 / std::sqrt(x))
FULGURITE_FUNCTION(Reciprocal, Floats(1.f) / x, 1 / x)
FULGURITE_FUNCTION(Sin, sin(x), std::sin(x))
FULGURITE_FUNCTION(Cos, cos(x), std::cos(x))
FULGURITE_FUNCTION(Tanh, tanh(x), std::tanh(x))
FULGURITE_FUNCTION(Erf, erf(x), std::erf(x))
FULGURITE_FUNCTION(Tan, tan(x), std::tan(x))
FULGURITE_FUNCTION(Asin, asin(x), std::asin(x))
FULGURITE_FUNCTION(Acos, acos(x), std::acos(x))
FULGURITE_FUNCTION(Atan, atan(x), std::atan(x))
FULGURITE_FUNCTION(Sigmoid, sigmoid(x), 1 / (1 + std::exp(-x)))
#undef FULGURITE_FUNCTION

// Functions that integers support too.
#define FULGURITE_STEP(Name, lanes_function, f64_function, integer_function)                \
  struct Name {                                                                             \
    FULGURITE_LANES apply(const Floats& x, const RowParameters&) { return lanes_function; } \
    static double apply(double x, const RowParameters&) { return f64_function; }            \
    template <Integer T>                                                                    \
    static T apply(T x, const RowParameters&) {                                             \
      return static_cast<T>(integer_function);                                              \
    }                                                                                       \
  };
FULGURITE_STEP(Abs, abs(x), std::fabs(x), x < 0 ? 0 - static_cast<Unsigned<T>>(x) : static_cast<Unsigned<T>>(x))
FULGURITE_STEP(Neg, -x, -x, 0 - static_cast<Unsigned<T>>(x))
FULGURITE_STEP(Square, x* x, x* x, static_cast<Unsigned<T>>(x) * static_cast<Unsigned<T>>(x))
FULGURITE_STEP(Sign, select(x > Floats(0.f), Floats(1.f), select(x < Floats(0.f), Floats(-1.f), Floats(0.f))),
               double(x > 0) - double(x < 0), (x > 0) - (x < 0))
FULGURITE_STEP(Floor, floor(x), std::floor(x), x)
FULGURITE_STEP(Ceil, ceil(x), std::ceil(x), x)
FULGURITE_STEP(Round, round_to_even(x), std::nearbyint(x), x)
FULGURITE_STEP(Trunc, trunc(x), std::trunc(x), x)
#undef FULGURITE_STEP

struct BitwiseNot {
  template <Integer T>
  static T apply(T x, const RowParameters&) {
    return ~x;
  }
};

// Tests inspect the bits: comparisons with infinity and NaN would work, but need more instructions.
struct IsNan {
  template <class T>
  static bool apply(T x) {
    return x != x;
  }
};
struct IsInf {
  template <class T>
  static bool apply(T x) {
    if constexpr (Integer<T>) return false;
    else return std::fabs(x) == static_cast<T>(INFINITY);
  }
};
struct IsFinite {
  template <class T>
  static bool apply(T x) {
    if constexpr (Integer<T>) return true;
    else return std::fabs(x) < static_cast<T>(INFINITY);
  }
};
struct LogicalNot {
  template <class T>
  static bool apply(T x) {
    return x == 0;
  }
};

template <class Operation, int64_t grain = costly>
void floating(Arguments arguments, std::span<const Tensor> results) {
  const Dtype dtype = results[0].impl()->dtype;
  run_pointwise(uniform(find_floating_unary_row<Operation>(dtype), dtype, grain), {&arguments[0]}, results[0]);
}
template <class Operation>
void any_number(Arguments arguments, std::span<const Tensor> results) {
  const Dtype dtype = results[0].impl()->dtype;
  run_pointwise(uniform(find_unary_row<Operation>(dtype), dtype), {&arguments[0]}, results[0]);
}
template <class Operation>
void test(Arguments arguments, std::span<const Tensor> results) {
  const Dtype dtype = compute_dtype(arguments[0].tensor().impl()->dtype);
  const Row row =
      visit_compute_type(dtype, [](auto type) -> Row { return test_row<Operation, typename decltype(type)::type>; });
  run_pointwise({row, {dtype}, Dtype::boolean}, {&arguments[0]}, results[0]);
}
void bitwise_not(Arguments arguments, std::span<const Tensor> results) {
  if (results[0].impl()->dtype == Dtype::boolean) return test<LogicalNot>(arguments, results);
  const Dtype dtype = compute_dtype(results[0].impl()->dtype);
  const Row row = dtype == Dtype::i64 ? unary_row<BitwiseNot, int64_t> : unary_row<BitwiseNot, int32_t>;
  run_pointwise(uniform(row, dtype), {&arguments[0]}, results[0]);
}

constexpr KernelEntry table[] = {
    {&exp_symbol, floating<Exp>},
    {&exp2_symbol, floating<Exp2>},
    {&expm1_symbol, floating<Expm1>},
    {&log_symbol, floating<Log>},
    {&log2_symbol, floating<Log2>},
    {&log10_symbol, floating<Log10>},
    {&log1p_symbol, floating<Log1p>},
    {&sqrt_symbol, floating<Sqrt, cheap>},
    {&rsqrt_symbol, floating<Rsqrt, cheap>},
    {&reciprocal_symbol, floating<Reciprocal, cheap>},
    {&sin_symbol, floating<Sin>},
    {&cos_symbol, floating<Cos>},
    {&tan_symbol, floating<Tan>},
    {&asin_symbol, floating<Asin>},
    {&acos_symbol, floating<Acos>},
    {&atan_symbol, floating<Atan>},
    {&tanh_symbol, floating<Tanh>},
    {&erf_symbol, floating<Erf>},
    {&sigmoid_symbol, floating<Sigmoid>},
    {&abs_symbol, any_number<Abs>},
    {&neg_symbol, any_number<Neg>},
    {&square_symbol, any_number<Square>},
    {&sign_symbol, any_number<Sign>},
    {&floor_symbol, any_number<Floor>},
    {&ceil_symbol, any_number<Ceil>},
    {&round_symbol, any_number<Round>},
    {&trunc_symbol, any_number<Trunc>},
    {&isnan_symbol, test<IsNan>},
    {&isinf_symbol, test<IsInf>},
    {&isfinite_symbol, test<IsFinite>},
    {&logical_not_symbol, test<LogicalNot>},
    {&bitwise_not_symbol, bitwise_not},
};

}  // namespace

KernelTable unary_kernels() { return table; }

}  // namespace fulgurite::FULGURITE_KERNELS
