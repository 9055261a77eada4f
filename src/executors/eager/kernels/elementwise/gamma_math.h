#pragma once
#include <algorithm>
#include <cmath>

namespace fulgurite::FULGURITE_KERNELS {

// Functions around the error and gamma functions in f64.

/// exp(x^2) erfc(x): the rounding of x^2 is made up for; a continued fraction for large x.
inline double scaled_erfc(double x) {
  constexpr double root_pi = 1.7724538509055160273, fraction_from = 8, overflows_below = -27;
  if (std::isnan(x)) return x;
  if (x < overflows_below) return INFINITY;
  if (x >= fraction_from) {
    double tail = x;
    for (int k = 60; k > 0; --k) tail = x + k / 2.0 / tail;
    return 1 / (root_pi * tail);
  }
  const double square = x * x, rest = std::fma(x, x, -square);
  return std::exp(square) * (1 + rest) * std::erfc(x);
}

/// The x that a normal number is below with probability p: an approximation with three digits (Abramowitz and Stegun
/// 26.2.23), then Halley's steps on the ratio of the tail and p.
inline double normal_quantile(double p) {
  if (!(p > 0 && p < 1)) return p == 0 ? -INFINITY : p == 1 ? INFINITY : NAN;
  if (p > 0.5) return -normal_quantile(1 - p);
  constexpr double root_2 = 1.4142135623730950488, root_2_pi = 2.5066282746310005024;
  if (p == 0.5) return 0;
  const double log_p = std::log(p), t = std::sqrt(-2 * log_p);
  double x = -(t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
  for (int step = 0; step < 3; ++step) {
    const double mills = scaled_erfc(-x / root_2) * root_2_pi / 2;          // tail / density
    const double excess = mills - root_2_pi * std::exp(log_p + x * x / 2);  // (tail - p) / density
    x -= excess / (1 + x * excess / 2);
  }
  return x;
}

/// mu - log(1 + mu), without cancellation near 0.
inline double log1p_defect(double mu) {
  if (std::fabs(mu) > 0.2) return mu - std::log1p(mu);
  double power = mu * mu, sum = 0;
  for (int k = 2; k < 60; ++k, power *= -mu) {
    const double term = power / k;
    sum += term;
    if (std::fabs(term) < 1e-17 * std::fabs(sum)) break;
  }
  return sum;
}

/// x^a exp(-x) / gamma(a + 1).
inline double gamma_prefactor(double a, double x) {
  constexpr double two_pi = 6.28318530717958647693;
  int sign = 0;
  if (a < 20) return std::exp(a * std::log(x) - x - ::lgamma_r(a + 1, &sign));
  const double square = 1 / (a * a);  // Stirling's series
  const double correction =
      (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square * (1.0 / 1680 - square / 1188)))) / a;
  return std::exp(-a * log1p_defect((x - a) / a) - correction) / std::sqrt(two_pi * a);
}

inline constexpr int max_gamma_terms = 200000;

/// The lower part as a series, for x below a + 1.
inline double lower_gamma_series(double a, double x) {
  double term = 1, sum = 1;
  for (int n = 1; n < max_gamma_terms && term > 1e-17 * sum; ++n) {
    term *= x / (a + n);
    sum += term;
  }
  return sum * gamma_prefactor(a, x);
}
/// The upper part as a continued fraction (Lentz), for x above a + 1.
inline double upper_gamma_fraction(double a, double x) {
  constexpr double tiny = 1e-300;
  double b = x + 1 - a, c = 1 / tiny, d = 1 / b, out = d;
  for (int n = 1; n < max_gamma_terms; ++n) {
    const double factor = -n * (n - a);
    b += 2;
    d = factor * d + b;
    c = b + factor / c;
    d = 1 / (d == 0 ? tiny : d);
    c = c == 0 ? tiny : c;
    out *= d * c;
    if (std::fabs(d * c - 1) < 1e-16) break;
  }
  return out * gamma_prefactor(a, x) * a;
}

/// The regularized incomplete gamma functions, one from the other where that loses no digits.
inline double lower_gamma(double a, double x) {
  if (std::isnan(a) || std::isnan(x) || a < 0 || x < 0) return NAN;
  if (a == 0) return x > 0 ? 1 : NAN;
  if (x == 0) return 0;
  if (std::isinf(a)) return std::isinf(x) ? NAN : 0;
  if (std::isinf(x)) return 1;
  return x < a + 1 ? std::min(lower_gamma_series(a, x), 1.0) : 1 - upper_gamma_fraction(a, x);
}
inline double upper_gamma(double a, double x) {
  if (std::isnan(a) || std::isnan(x) || a < 0 || x < 0) return NAN;
  if (a == 0) return x > 0 ? 0 : NAN;
  if (x == 0) return 1;
  if (std::isinf(a)) return std::isinf(x) ? NAN : 1;
  if (std::isinf(x)) return 0;
  return x < a + 1 ? 1 - lower_gamma_series(a, x) : upper_gamma_fraction(a, x);
}

/// How a gamma number z of shape a and rate 1 moves with a: -(dP/da) / (dP/dz) at P = lower_gamma(a, z), the derivative
/// by differences of the smaller one of the two parts.
inline double gamma_sample_slope(double a, double z) {
  if (!(a > 0) || !(z > 0) || std::isinf(a) || std::isinf(z)) return NAN;
  const bool is_upper = z > a;
  const auto part = [&](double shape) { return is_upper ? upper_gamma(shape, z) : lower_gamma(shape, z); };
  const double step = 2e-3 * std::min(a, std::sqrt(a));
  const double near = part(a + step) - part(a - step), far = part(a + 2 * step) - part(a - 2 * step);
  const double derivative = (8 * near - far) / (12 * step);
  const double density = gamma_prefactor(a, z) * a / z;
  return (is_upper ? derivative : -derivative) / density;
}

/// The sum of (q + k)^-s over all k >= 0, for s > 1: some terms, then Euler's and Maclaurin's series.
inline double hurwitz_zeta(double s, double q) {
  if (s == 1) return INFINITY;
  if (!(s > 1) || std::isnan(q)) return NAN;
  if (q <= 0) {
    if (q == std::floor(q)) return INFINITY;
    if (s != std::floor(s)) return NAN;
  }
  constexpr double bernoulli[] = {1.0 / 6,       -1.0 / 30, 1.0 / 42,      -1.0 / 30,     5.0 / 66,
                                  -691.0 / 2730, 7.0 / 6,   -3617.0 / 510, 43867.0 / 798, -174611.0 / 330};
  double sum = 0;
  for (; q < 12; ++q) {
    const double term = std::pow(q, -s);
    sum += term;
    if (q > 0 && term < 1e-17 * std::fabs(sum)) return sum;
  }
  const double power = std::pow(q, -s);
  sum += power * q / (s - 1) + power / 2;
  double factor = s, scale = power / q;  // s (s + 1) … / (2k)!, q^(-s - 2k + 1)
  double factorial = 2;
  for (int k = 1; k <= 10; ++k) {
    const double term = bernoulli[k - 1] / factorial * factor * scale;
    sum += term;
    if (std::fabs(term) < 1e-17 * std::fabs(sum)) break;
    factor *= (s + 2 * k - 1) * (s + 2 * k);
    factorial *= (2 * k + 1) * (2 * k + 2.0);
    scale /= q * q;
  }
  return sum;
}

}  // namespace fulgurite::FULGURITE_KERNELS
