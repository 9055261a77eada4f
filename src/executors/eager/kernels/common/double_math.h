#pragma once
#include <cstdint>

#include "codegen/device_lib/memory.h"

namespace fulgurite::FULGURITE_KERNELS {

// Functions of one double without branches and calls, so that loops over them are vectorised.

/// ln x for positive, finite, normal x, to the last bits.
FULGURITE_INLINE double log_of_positive(double x) {
  constexpr uint64_t sqrt_half = 0x3fe6a09e667f3bcd;
  const uint64_t bits = __builtin_bit_cast(uint64_t, x) - sqrt_half;
  const double exponent = static_cast<double>(static_cast<int32_t>(static_cast<int64_t>(bits) >> 52));
  const double mantissa = __builtin_bit_cast(double, (bits & 0x000fffffffffffffu) + sqrt_half);
  // ln m = 2 artanh((m - 1) / (m + 1))
  const double s = (mantissa - 1) / (mantissa + 1), z = s * s;
  double p = 1.0 / 23;
  p = multiply_add(p, z, 1.0 / 21);
  p = multiply_add(p, z, 1.0 / 19);
  p = multiply_add(p, z, 1.0 / 17);
  p = multiply_add(p, z, 1.0 / 15);
  p = multiply_add(p, z, 1.0 / 13);
  p = multiply_add(p, z, 1.0 / 11);
  p = multiply_add(p, z, 1.0 / 9);
  p = multiply_add(p, z, 1.0 / 7);
  p = multiply_add(p, z, 1.0 / 5);
  p = multiply_add(p, z, 1.0 / 3);
  return multiply_add(exponent, 0.693147180559945309, multiply_add(2 * s, z * p, 2 * s));
}

/// e^x for x in [-700, 700] or NaN, with a relative error of about 1e-11: enough for a result that is rounded to f32.
FULGURITE_INLINE double exp_for_float(double x) {
  const double shifted = multiply_add(x, 1.44269504088896341, 0x1.8p52);
  const double n = shifted - 0x1.8p52;
  const double r = multiply_add(n, -1.9082149292705877e-10, multiply_add(n, -0.69314718036912382, x));
  double p = 1.0 / 40320;
  p = multiply_add(p, r, 1.0 / 5040);
  p = multiply_add(p, r, 1.0 / 720);
  p = multiply_add(p, r, 1.0 / 120);
  p = multiply_add(p, r, 1.0 / 24);
  p = multiply_add(p, r, 1.0 / 6);
  p = multiply_add(p, r, 0.5);
  p = multiply_add(p, r, 1.0);
  p = multiply_add(p, r, 1.0);
  return p * __builtin_bit_cast(double, (__builtin_bit_cast(uint64_t, shifted) + 1023) << 52);
}

/// sin(t) for t in [-pi/2, pi/2], to the last bits.
FULGURITE_INLINE double sine_of_small(double t) {
  const double z = t * t;
  double s = 1.0 / 355687428096000;
  s = multiply_add(s, z, -1.0 / 1307674368000);
  s = multiply_add(s, z, 1.0 / 6227020800);
  s = multiply_add(s, z, -1.0 / 39916800);
  s = multiply_add(s, z, 1.0 / 362880);
  s = multiply_add(s, z, -1.0 / 5040);
  s = multiply_add(s, z, 1.0 / 120);
  s = multiply_add(s, z, -1.0 / 6);
  return multiply_add(s * z, t, t);
}

/// cos(2 pi u) for u in [0, 1), to the last bits.
FULGURITE_INLINE double cosine_of_turn(double u) {
  const int32_t quarter = static_cast<int32_t>(u * 4 + 0.5);
  const double t = (u - quarter * 0.25) * 6.28318530717958648, z = t * t;
  double c = -1.0 / 6402373705728000;
  c = multiply_add(c, z, 1.0 / 20922789888000);
  c = multiply_add(c, z, -1.0 / 87178291200);
  c = multiply_add(c, z, 1.0 / 479001600);
  c = multiply_add(c, z, -1.0 / 3628800);
  c = multiply_add(c, z, 1.0 / 40320);
  c = multiply_add(c, z, -1.0 / 720);
  c = multiply_add(c, z, 1.0 / 24);
  c = multiply_add(c, z, -0.5);
  c = multiply_add(c, z, 1.0);
  const double s = sine_of_small(t);
  const double value = quarter & 1 ? s : c;
  return (quarter + 1) & 2 ? -value : value;
}

/// base to the power of exponent, rounded to f32; the special cases of the C standard.
FULGURITE_INLINE float power_of_floats(float base, float exponent) {
  const double infinity = __builtin_inf();
  const double x = base, y = exponent, magnitude = __builtin_fabs(x);
  const double some = magnitude > 0 ? magnitude < infinity ? magnitude : 1.0 : 1.0;
  double logarithm = log_of_positive(some);
  logarithm = magnitude == 0 ? -infinity : logarithm;
  logarithm = magnitude < infinity ? logarithm : magnitude;  // infinity and NaN
  double power = y * logarithm;
  power = magnitude == 1 ? y == y ? 0.0 : y : power;
  power = power > 100 ? 100 : power;
  power = power < -120 ? -120 : power;
  const double value = exp_for_float(power);
  // Tests for integers: below 2^52 adding 2^52 rounds to one; every float above is an even integer.
  const double size = __builtin_fabs(y);
  const double whole = (size + 0x1p52) - 0x1p52, half = size * 0.5, whole_half = (half + 0x1p52) - 0x1p52;
  const bool is_integer = whole == size, is_odd = is_integer & (whole_half != half);
  const bool is_negative = __builtin_bit_cast(int32_t, base) < 0;
  double result = (is_negative & is_odd) ? -value : value;
  result = ((x < 0) & (magnitude < infinity) & !is_integer) ? static_cast<double>(__builtin_nanf("")) : result;
  result = ((x == 1) | (y == 0)) ? 1.0 : result;
  return static_cast<float>(result);
}

}  // namespace fulgurite::FULGURITE_KERNELS
