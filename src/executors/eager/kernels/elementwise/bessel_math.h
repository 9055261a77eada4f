#pragma once
#include <cmath>

namespace fulgurite::FULGURITE_KERNELS {

// Bessel functions of orders 0 and 1 in f64, from series, asymptotic series and integrals (Abramowitz and Stegun 9).

inline constexpr double bessel_pi = 3.14159265358979323846;
inline constexpr double last_bit = 1.1102230246251565e-16;
inline constexpr double series_limit = 30;  // from where the asymptotic series is exact

/// exp(-|x|) I_order(x) for x >= 0 and orders 0 and 1: all terms of the series are positive.
inline double scaled_modified_series(double x, int order) {
  const double quarter = x * x / 4;
  double term = order == 0 ? 1 : x / 2, sum = term;
  for (int k = 1; k < 200; ++k) {
    term *= quarter / (k * static_cast<double>(k + order));
    sum += term;
    if (term < last_bit * sum) break;
  }
  return sum * std::exp(-x);
}
inline double scaled_modified_asymptotic(double x, int order) {
  const double mu = 4.0 * order * order;
  double term = 1, sum = 1;
  for (int k = 1; k < 100; ++k) {
    const double odd = 2 * k - 1;
    term *= -(mu - odd * odd) / (8 * k * x);
    sum += term;
    if (std::fabs(term) < last_bit * sum) break;
  }
  return sum / std::sqrt(2 * bessel_pi * x);
}
inline double scaled_bessel_i0(double x) {
  const double size = std::fabs(x);
  if (std::isinf(size)) return 0;
  return size <= series_limit ? scaled_modified_series(size, 0) : scaled_modified_asymptotic(size, 0);
}
inline double scaled_bessel_i1(double x) {
  const double size = std::fabs(x);
  if (std::isinf(size)) return std::copysign(0.0, x);
  return std::copysign(size <= series_limit ? scaled_modified_series(size, 1) : scaled_modified_asymptotic(size, 1), x);
}
/// The scaled value times exp(|x|), in two factors that do not overflow before their product does.
inline double unscaled(double scaled, double x) {
  const double root = std::exp(std::fabs(x) / 2);
  return scaled == 0 && std::isinf(root) ? std::copysign(root, x) : scaled * root * root;
}
inline double bessel_i0(double x) { return std::fabs(unscaled(scaled_bessel_i0(x), x)); }
inline double bessel_i1(double x) { return unscaled(scaled_bessel_i1(x), x); }

inline double bessel_j0(double x) { return ::j0(x); }
inline double bessel_j1(double x) { return ::j1(x); }
inline double bessel_y0(double x) { return x == 0 ? -INFINITY : x < 0 ? NAN : ::y0(x); }
inline double bessel_y1(double x) { return x == 0 ? -INFINITY : x < 0 ? NAN : ::y1(x); }

/// exp(x) K_order(x), the integral of exp(-x (cosh t - 1)) cosh(order t): the trapezoidal rule is exact, since the
/// integrand vanishes doubly exponentially.
inline double scaled_bessel_k(double x, int order) {
  if (std::isnan(x) || x < 0) return NAN;
  if (x == 0) return INFINITY;
  if (std::isinf(x)) return 0;
  constexpr double euler = 0.57721566490153286, tiny = 1e-5, exponents = 42;
  const double step = std::fmin(0.125, 0.6 / std::sqrt(x));  // the integrand is 1 / sqrt(x) wide
  if (x < tiny) {                                            // two terms of the series are exact
    const double logarithm = std::log(x / 2) + euler, quarter = x * x / 4;
    const double value = order == 0 ? -logarithm * (1 + quarter) + quarter : 1 / x + x / 2 * (logarithm - 0.5);
    return value * std::exp(x);
  }
  double sum = 0.5;
  for (int i = 1;; ++i) {
    const double t = step * i, half = std::sinh(t / 2), exponent = 2 * x * half * half;
    if (exponent > exponents + (order == 0 ? 0 : t)) break;
    sum += std::exp(-exponent) * (order == 0 ? 1 : std::cosh(t));
  }
  return sum * step;
}
inline double scaled_bessel_k0(double x) { return scaled_bessel_k(x, 0); }
inline double scaled_bessel_k1(double x) { return scaled_bessel_k(x, 1); }
inline double bessel_k0(double x) { return scaled_bessel_k(x, 0) * std::exp(-x); }
inline double bessel_k1(double x) { return scaled_bessel_k(x, 1) * std::exp(-x); }

}  // namespace fulgurite::FULGURITE_KERNELS
