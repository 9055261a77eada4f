#pragma once
#include "executors/eager/kernels/common/double_math.h"

namespace fulgurite::FULGURITE_KERNELS {

// Special functions of one float, computed in double without branches and calls, so that loops over them are
// vectorised; accurate to the last bit or two of a float.

FULGURITE_INLINE double chosen(bool condition, double a, double b) { return condition ? a : b; }

FULGURITE_INLINE double sinh_for_float(double x) {
  const double size = __builtin_fabs(x), z = x * x;
  const double power = exp_for_float(chosen(size > 100, 100, size));
  const double large = __builtin_copysign(0.5 * (power - 1 / power), x);
  const double small = x + x * z * (1.0 / 6 + z * (1.0 / 120 + z * (1.0 / 5040 + z * (1.0 / 362880))));
  return chosen(size < 0.3, small, large);
}
FULGURITE_INLINE double cosh_for_float(double x) {
  const double size = __builtin_fabs(x), power = exp_for_float(chosen(size > 100, 100, size));
  return 0.5 * (power + 1 / power);
}

FULGURITE_INLINE double asinh_for_float(double x) {
  const double size = __builtin_fabs(x), z = x * x;
  const bool is_finite = size < __builtin_inf();
  const double sum = chosen(is_finite, size + __builtin_sqrt(z + 1), 1);
  const double large = __builtin_copysign(log_of_positive(sum), x);
  const double small = x - x * z * (1.0 / 6 - z * (3.0 / 40));
  return __builtin_copysign(chosen(size < 1e-3, small, chosen(is_finite, large, x)), x);
}
FULGURITE_INLINE double acosh_for_float(double x) {
  const double root = __builtin_sqrt((x - 1) * (x + 1));
  const bool is_inside = (x >= 1) & (x < __builtin_inf());
  const double value = log_of_positive(chosen(is_inside, x + root, 1));
  return chosen(is_inside, value, chosen(x > 1, x, __builtin_nan("")));
}
FULGURITE_INLINE double atanh_for_float(double x) {
  const double size = __builtin_fabs(x), z = x * x;
  const bool is_inside = size < 1;
  const double large = 0.5 * log_of_positive(chosen(is_inside, (1 + size) / (1 - size), 1));
  const double small = x + x * z * (1.0 / 3 + z * (1.0 / 5));
  const double edge = chosen(size == 1, __builtin_inf(), __builtin_nan(""));
  return chosen(size < 1e-3, small, __builtin_copysign(chosen(is_inside, large, edge), x));
}

/// (1 + 2 a) exp(a^2) erfc(a) is smooth in q = (a - 2) / (a + 2); this is its polynomial for a in [0, 11].
FULGURITE_INLINE double erfc_for_float(double x) {
  const double size = __builtin_fabs(x), a = chosen(size > 11, 11, size), q = (a - 2) / (a + 2);
  double p = -7.8249674833215722e-06;
  p = multiply_add(p, q, -2.8212068939083924e-05);
  p = multiply_add(p, q, -3.216561987496225e-06);
  p = multiply_add(p, q, 0.00014494859151509485);
  p = multiply_add(p, q, 0.00020598509047357367);
  p = multiply_add(p, q, -0.00045207630655036689);
  p = multiply_add(p, q, -0.0014564977077033468);
  p = multiply_add(p, q, 0.0012708811332797821);
  p = multiply_add(p, q, 0.0087225939648873391);
  p = multiply_add(p, q, -0.0080339660514302056);
  p = multiply_add(p, q, -0.054219997372391263);
  p = multiply_add(p, q, 0.1640512776323402);
  p = multiply_add(p, q, -0.1660303976257394);
  p = multiply_add(p, q, -0.092763826551087197);
  p = multiply_add(p, q, 1.2769783815516533);
  const double value = p / (1 + 2 * a) * exp_for_float(-a * a);
  return chosen(x < 0, 2 - value, value);
}

/// erfinv(x) / x as polynomials of w = -ln(1 - x^2) up to 5, and of sqrt(w) - 3 beyond.
FULGURITE_INLINE double erfinv_for_float(double x) {
  const double size = __builtin_fabs(x);
  const bool is_inside = size < 1;
  const double w = -log_of_positive(chosen(is_inside, (1 - size) * (1 + size), 1));
  double low = -2.1203565131819003e-11;
  low = multiply_add(low, w, 7.5913584368577816e-10);
  low = multiply_add(low, w, -1.129706500238048e-08);
  low = multiply_add(low, w, 8.3506536840041186e-08);
  low = multiply_add(low, w, -2.3506233780258301e-07);
  low = multiply_add(low, w, -5.7285457350203835e-07);
  low = multiply_add(low, w, 1.3458075851527609e-06);
  low = multiply_add(low, w, 4.7313270917026537e-05);
  low = multiply_add(low, w, -0.00012851973714040642);
  low = multiply_add(low, w, -0.00233490579592786);
  low = multiply_add(low, w, 0.011549299438956629);
  low = multiply_add(low, w, 0.23201367024532019);
  low = multiply_add(low, w, 0.88622692539813952);
  const double s = __builtin_sqrt(chosen(w > 0, w, 0)) - 3;
  double high = -5.7322481327566364e-06;
  high = multiply_add(high, s, -2.154129397872568e-05);
  high = multiply_add(high, s, 0.00016890249892575251);
  high = multiply_add(high, s, -0.00029011655569919753);
  high = multiply_add(high, s, -0.00012488013533764209);
  high = multiply_add(high, s, 0.0014822334687838799);
  high = multiply_add(high, s, -0.0035655932289464422);
  high = multiply_add(high, s, 0.0056860478772798057);
  high = multiply_add(high, s, -0.0076430082888352367);
  high = multiply_add(high, s, 0.0094454344289452759);
  high = multiply_add(high, s, 1.0016752497965107);
  high = multiply_add(high, s, 2.8329767999137485);
  const double edge = chosen(size == 1, __builtin_inf(), __builtin_nan(""));
  return __builtin_copysign(chosen(is_inside, size * chosen(w < 5, low, high), edge), x);
}

/// Rounds numbers up to 2^51 to the nearest integer, ties to even; larger ones are integers.
FULGURITE_INLINE double nearest_integer(double x) {
  const double size = __builtin_fabs(x), rounded = (size + 0x1p52) - 0x1p52;
  return __builtin_copysign(chosen(size < 0x1p51, rounded, size), x);
}
/// sin(pi r) and cos(pi r) for r in [-1/2, 1/2].
FULGURITE_INLINE double sine_of_half_turn(double r) { return sine_of_small(r * 3.14159265358979324); }
FULGURITE_INLINE double cosine_of_half_turn(double r) { return sine_of_half_turn(0.5 - __builtin_fabs(r)); }

// The gamma functions' series hold from 8 on; below, eight steps of their recurrences lead there.
struct Shifted {
  bool is_low;
  double y, inverse, square;  // y >= 8, 1 / y, 1 / y^2
};
FULGURITE_INLINE Shifted shifted_by_eight(double x) {
  const bool is_low = x < 8;
  const double y = chosen(is_low, x + 8, x), inverse = 1 / y;
  return {is_low, y, inverse, inverse * inverse};
}

/// ln |Gamma(x)|.
FULGURITE_INLINE double log_gamma_for_float(double x) {
  constexpr double pi = 3.14159265358979324;
  const double infinity = __builtin_inf(), size = __builtin_fabs(x);
  const bool is_finite = size < infinity;
  const double a = chosen(is_finite, size, 1);
  const Shifted shifted = shifted_by_eight(a);
  const double product = (((a * (a + 1)) * ((a + 2) * (a + 3))) * (((a + 4) * (a + 5)) * ((a + 6) * (a + 7))));
  const double taken = chosen(shifted.is_low, chosen(a > 0, product, 1), 1);  // with one condition it is not vectorised
  double s = -691.0 / 360360;
  s = multiply_add(s, shifted.square, 1.0 / 1188);
  s = multiply_add(s, shifted.square, -1.0 / 1680);
  s = multiply_add(s, shifted.square, 1.0 / 1260);
  s = multiply_add(s, shifted.square, -1.0 / 360);
  s = multiply_add(s, shifted.square, 1.0 / 12);
  const double series =
      (shifted.y - 0.5) * log_of_positive(shifted.y) - shifted.y + 0.918938533204672742 + s * shifted.inverse;
  const double positive = series - log_of_positive(taken);
  // Gamma(-a) Gamma(a) = -pi / (a sin(pi a))
  const double v = a * __builtin_fabs(sine_of_half_turn(a - nearest_integer(a)));
  const double reflected = log_of_positive(chosen(v > 0, pi / v, 1)) - positive;
  const double negative = chosen(v > 0, reflected, infinity);
  const double value = chosen(a > 0, chosen(x < 0, negative, positive), infinity);
  return chosen(is_finite, value, size);
}

FULGURITE_INLINE double digamma_of_positive(double x) {
  const Shifted shifted = shifted_by_eight(x);
  double sum = 0;
  _Pragma("GCC unroll 8") for (int k = 0; k < 8; ++k) sum += 1 / (x + k);
  double s = -1.0 / 12;
  s = multiply_add(s, shifted.square, 691.0 / 32760);
  s = multiply_add(s, shifted.square, -1.0 / 132);
  s = multiply_add(s, shifted.square, 1.0 / 240);
  s = multiply_add(s, shifted.square, -1.0 / 252);
  s = multiply_add(s, shifted.square, 1.0 / 120);
  s = multiply_add(s, shifted.square, -1.0 / 12);
  return log_of_positive(shifted.y) - 0.5 * shifted.inverse + s * shifted.square - chosen(shifted.is_low, sum, 0);
}
FULGURITE_INLINE double digamma_for_float(double x) {
  constexpr double pi = 3.14159265358979324;
  const double infinity = __builtin_inf(), size = __builtin_fabs(x), whole = nearest_integer(x), r = x - whole;
  const bool is_positive = x > 0, is_finite = size < infinity;
  const double value = digamma_of_positive(chosen(is_finite, chosen(is_positive, x, 1 - x), 1));
  const double reflected = value - pi * cosine_of_half_turn(r) / sine_of_half_turn(r);
  const double negative = chosen(x == whole, __builtin_nan(""), reflected);
  const double result = chosen(is_positive, value, chosen(x == 0, __builtin_copysign(infinity, -x), negative));
  return chosen(is_finite, result, chosen(is_positive, x, __builtin_nan("")));
}

/// The derivative of digamma.
FULGURITE_INLINE double trigamma_for_float(double given) {
  constexpr double pi = 3.14159265358979324;
  const double infinity = __builtin_inf(), size = __builtin_fabs(given), whole = nearest_integer(given);
  const bool is_low = given < 0.5, is_finite = size < infinity;
  const double x = chosen(is_finite, chosen(is_low, 1 - given, given), 1);
  const Shifted shifted = shifted_by_eight(x);
  double sum = 0;
  _Pragma("GCC unroll 8") for (int k = 0; k < 8; ++k) sum += 1 / ((x + k) * (x + k));
  double s = 7.0 / 6;
  s = multiply_add(s, shifted.square, -691.0 / 2730);
  s = multiply_add(s, shifted.square, 5.0 / 66);
  s = multiply_add(s, shifted.square, -1.0 / 30);
  s = multiply_add(s, shifted.square, 1.0 / 42);
  s = multiply_add(s, shifted.square, -1.0 / 30);
  s = multiply_add(s, shifted.square, 1.0 / 6);
  const double value =
      chosen(shifted.is_low, sum, 0) + shifted.inverse * (1 + 0.5 * shifted.inverse + s * shifted.square);
  const double sine = sine_of_half_turn(given - whole);
  const double reflected = pi * pi / (sine * sine) - value;
  const double result = chosen(is_low, chosen(given == whole, infinity, reflected), value);
  return chosen(is_finite, result, chosen(given > 0, 0, __builtin_nan("")));
}

}  // namespace fulgurite::FULGURITE_KERNELS
