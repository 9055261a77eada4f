// Pointwise functions of one operand that need a series: inverse hyperbolic functions, the error and gamma functions
// and related ones. Computed in f64 whatever the dtype.
#include <cmath>

#include "executors/eager/kernels.h"
#include "executors/eager/kernels/common/rows.h"
#include "executors/eager/kernels/elementwise/special_math.h"
#include "ops/generated/symbols.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

constexpr double pi = 3.14159265358979323846;
// Bernoulli numbers B2, B4, …, for the series of digamma and its derivatives.
constexpr double bernoulli[] = {1.0 / 6,       -1.0 / 30, 1.0 / 42,      -1.0 / 30,     5.0 / 66,
                                -691.0 / 2730, 7.0 / 6,   -3617.0 / 510, 43867.0 / 798, -174611.0 / 330};
constexpr double series_from = 12;  // where the series is exact to the last bit or two

double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

double digamma_of(double x) {
  if (x == 0) return std::copysign(INFINITY, -x);
  double result = 0;
  if (x < 0) {
    if (x == std::trunc(x)) return NAN;
    const double fraction = x - std::trunc(x);
    result = -pi / std::tan(pi * fraction);  // reflection
    x = 1 - x;
  }
  for (; x < series_from; ++x) result -= 1 / x;
  const double square = 1 / (x * x);
  double power = square, series = 0;
  for (int k = 0; k < 8; ++k, power *= square) series += bernoulli[k] / (2 * (k + 1)) * power;
  return result + std::log(x) - 0.5 / x - series;
}

// The n-th derivative of digamma, n >= 1 (Abramowitz and Stegun 6.4).
double polygamma_of(int64_t n, double x) {
  if (n == 0) return digamma_of(x);
  if (n == 1 && std::isinf(x) && x < 0) return NAN;
  if (x <= 0 && x == std::trunc(x)) return n % 2 == 0 ? -INFINITY : INFINITY;
  if (n == 1 && x < 0.5) {
    const double sine = std::sin(pi * x);
    return pi * pi / (sine * sine) - polygamma_of(1, 1 - x);
  }
  const auto order = static_cast<double>(n);
  const double factorial = std::tgamma(order + 1);
  double sum = 0;
  for (; x < series_from + order; ++x) {
    const double next = factorial / std::pow(x, order + 1);
    // Far below zero, or for a high order, the remaining terms do not change the sum.
    if (!(std::fabs(next) > 1e-17 * std::fabs(sum))) break;
    sum += next;
  }
  const double power = std::pow(x, order);
  sum += factorial / order / power + factorial / (2 * power * x);
  double term = factorial * (order + 1) / 2;  // (2k + n - 1)! / (2k)!, then over x^(2k + n)
  double scale = 1 / (power * x * x);
  for (int k = 1; k <= 10; ++k) {
    sum += bernoulli[k - 1] * term * scale;
    term *= (2 * k + order) * (2 * k + order + 1) / ((2 * k + 1) * (2 * k + 2.0));
    scale /= x * x;
  }
  return n % 2 == 0 ? -sum : sum;
}

double trigamma_of(double x) { return polygamma_of(1, x); }

// An approximation with three digits (Winitzki 2008), then Halley's steps, which triple them.
double inverse_error_function(double y) {
  const double size = std::fabs(y);
  if (!(size < 1)) return size == 1 ? std::copysign(INFINITY, y) : NAN;
  if (size == 0) return y;
  constexpr double a = 0.147;
  const double logarithm = std::log1p(-size * size), half = 2 / (pi * a) + logarithm / 2;
  double x = std::sqrt(std::sqrt(half * half - logarithm / a) - half);
  for (int step = 0; step < 3; ++step) {
    // Near 1 the difference of complements keeps the digits.
    const double difference = size > 0.5 ? (1 - size) - std::erfc(x) : std::erf(x) - size;
    const double newton = difference / (2 / std::sqrt(pi) * std::exp(-x * x));
    x -= newton / (1 + x * newton);
  }
  return std::copysign(x, y);
}

#define FULGURITE_SPECIAL_FUNCTION(Name, of_float, of_double)                                     \
  struct Name {                                                                                   \
    static float apply(float x, const RowParameters&) { return static_cast<float>(of_float(x)); } \
    static double apply(double x, const RowParameters&) { return of_double(x); }                  \
  };
FULGURITE_SPECIAL_FUNCTION(Sinh, sinh_for_float, std::sinh)
FULGURITE_SPECIAL_FUNCTION(Cosh, cosh_for_float, std::cosh)
FULGURITE_SPECIAL_FUNCTION(Asinh, asinh_for_float, std::asinh)
FULGURITE_SPECIAL_FUNCTION(Acosh, acosh_for_float, std::acosh)
FULGURITE_SPECIAL_FUNCTION(Atanh, atanh_for_float, std::atanh)
FULGURITE_SPECIAL_FUNCTION(Erfc, erfc_for_float, std::erfc)
FULGURITE_SPECIAL_FUNCTION(Erfinv, erfinv_for_float, inverse_error_function)
FULGURITE_SPECIAL_FUNCTION(Lgamma, log_gamma_for_float, log_gamma)
FULGURITE_SPECIAL_FUNCTION(Digamma, digamma_for_float, digamma_of)
FULGURITE_SPECIAL_FUNCTION(Trigamma, trigamma_for_float, trigamma_of)
#undef FULGURITE_SPECIAL_FUNCTION

struct Polygamma {
  static double apply(double x, const RowParameters& p) { return polygamma_of(p.integer, x); }
  static float apply(float x, const RowParameters& p) { return static_cast<float>(polygamma_of(p.integer, x)); }
};

template <class Operation>
void special(Arguments arguments, std::span<const Tensor> results) {
  const Dtype dtype = results[0].impl()->dtype;
  run_pointwise(uniform(find_floating_unary_row<Operation>(dtype), dtype, costly), {&arguments[0]}, results[0]);
}
void polygamma(Arguments arguments, std::span<const Tensor> results) {
  const Dtype dtype = results[0].impl()->dtype;
  RowParameters parameters;
  parameters.integer = static_cast<int64_t>(arguments[0].integer());
  if (parameters.integer == 1)
    return run_pointwise(uniform(find_floating_unary_row<Trigamma>(dtype), dtype, costly), {&arguments[1]}, results[0]);
  run_pointwise(uniform(find_floating_unary_row<Polygamma>(dtype), dtype, very_costly), {&arguments[1]}, results[0],
                parameters);
}

constexpr KernelEntry table[] = {
    {&sinh_symbol, special<Sinh>},     {&cosh_symbol, special<Cosh>},     {&asinh_symbol, special<Asinh>},
    {&acosh_symbol, special<Acosh>},   {&atanh_symbol, special<Atanh>},   {&erfc_symbol, special<Erfc>},
    {&erfinv_symbol, special<Erfinv>}, {&lgamma_symbol, special<Lgamma>}, {&digamma_symbol, special<Digamma>},
    {&polygamma_symbol, polygamma},
};

}  // namespace

KernelTable special_kernels() { return table; }

}  // namespace fulgurite::FULGURITE_KERNELS
