// Transcendental functions on vector.h's lanes: within 3.5 units in the last place of the true value, right for NaN,
// infinities, zeros of either sign and subnormal numbers. Floats are converted to integers by adding 1.5 * 2^23, which
// is defined for every input.
#pragma once
#include "codegen/device_lib/memory.h"

namespace fulgurite::FULGURITE_KERNELS {

/// (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2.
FULGURITE_INLINE Floats exp_tail(const Floats& r) {
  Floats p = multiply_add(Floats(1.9875691500e-4f), r, Floats(1.3981999507e-3f));
  p = multiply_add(p, r, Floats(8.3334519073e-3f));
  p = multiply_add(p, r, Floats(4.1665795894e-2f));
  p = multiply_add(p, r, Floats(1.6666665459e-1f));
  return multiply_add(p, r, Floats(5.0000001201e-1f));
}

struct ExpParts {
  Floats fraction, shifted, n;  // e^x = scale(fraction, shifted, n), the fraction in [0.7, 1.42]
};
/// For x in [-361, 89], or NaN.
FULGURITE_INLINE ExpParts exp_parts(const Floats& x) {
  const Floats shifted = multiply_add(x, Floats(1.44269504088896341f), Floats(0x1.8p23f));
  const Floats n = integer_of(shifted);
  Floats r = multiply_add(n, Floats(-0.693359375f), x);
  r = multiply_add(n, Floats(2.12194440e-4f), r);
  const Floats slope = multiply_add(exp_tail(r), r, Floats(1.f));  // (e^r - 1) / r
  return {multiply_add(slope, r, Floats(1.f)), shifted, n};
}
/// e^x for x in [-104, 89], or NaN.
FULGURITE_INLINE Floats exp_in_range(const Floats& x) {
  const ExpParts parts = exp_parts(x);
  return scale(parts.fraction, parts.shifted, parts.n);
}
/// e^x for x <= 89, or NaN.
FULGURITE_INLINE Floats exp_of_small(const Floats& x) {
  return exp_in_range(select(x < Floats(-104.f), Floats(zero_power * 0.69314718f), x));
}
FULGURITE_INLINE Floats exp(const Floats& x) { return exp_of_small(lesser_or_second(Floats(89.f), x)); }

/// 2^f for |f| <= 1/2 is a polynomial in f, off by 7e-9.
FULGURITE_INLINE Floats exp2(const Floats& argument) {
  const Floats below = lesser_or_second(Floats(129.f), argument);
  const Floats x = select(below < Floats(-150.f), Floats(zero_power), below);
  const Floats shifted = with_integer_bits(x);
  const Floats n = integer_of(shifted), f = x - n;
  Floats p = multiply_add(f, Floats(1.5455174e-4f), Floats(1.3385492e-3f));
  p = multiply_add(p, f, Floats(9.618078e-3f));
  p = multiply_add(p, f, Floats(5.5503726e-2f));
  p = multiply_add(p, f, Floats(2.402265e-1f));
  p = multiply_add(p, f, Floats(6.9314718e-1f));
  return scale(multiply_add(p, f, Floats(1.f)), shifted, n);
}

FULGURITE_INLINE Floats expm1(const Floats& argument) {
  const Floats x = greater_or_second(Floats(-18.f), lesser_or_second(Floats(89.f), argument));
  const Floats shifted = multiply_add(x, Floats(1.44269504088896341f), Floats(0x1.8p23f));
  const Floats n = integer_of(shifted);
  Floats r = multiply_add(n, Floats(-0.693359375f), x);
  r = multiply_add(n, Floats(2.12194440e-4f), r);
  const Floats small = multiply_add(exp_tail(r) * r, r, r);  // e^r - 1
  // 2^n (small + 1) - 1 with the ones cancelled before they can hide the small part; halved so that 2^128 does not
  // overflow.
  const Floats half = scale(Floats(0.5f), shifted, n);
  const Floats large = multiply_add(half, small, half - Floats(0.5f)) * Floats(2.f);
  return select(abs(argument) < Floats(1e-5f), multiply_add(argument * Floats(0.5f), argument, argument), large);
}

struct Decomposed {
  Floats fraction, exponent;  // x = (1 + fraction) * 2^exponent, 1 + fraction in [sqrt(1/2), sqrt(2))
};
FULGURITE_INLINE Decomposed decompose(const Floats& argument) {
  const Ints tiny = argument < Floats(0x1p-126f);
  const Floats x = select(tiny, argument * Floats(0x1p23f), argument);
  const Ints bits = bits_of(x) - Ints(0x3f3504f3);  // sqrt(1/2)
  const Ints exponent = shift_right_signed(bits, 23);
  const Floats mantissa = from_bits((bits & Ints(0x007fffff)) + Ints(0x3f3504f3));
  return {mantissa - Floats(1.f), to_floats(exponent) - select(tiny, Floats(23.f), Floats(0.f))};
}
/// (ln(1 + f) - f + f^2 / 2) / f^3
FULGURITE_INLINE Floats log_tail(const Floats& f) {
  Floats p = multiply_add(Floats(7.0376836292e-2f), f, Floats(-1.1514610310e-1f));
  p = multiply_add(p, f, Floats(1.1676998740e-1f));
  p = multiply_add(p, f, Floats(-1.2420140846e-1f));
  p = multiply_add(p, f, Floats(1.4249322787e-1f));
  p = multiply_add(p, f, Floats(-1.6668057665e-1f));
  p = multiply_add(p, f, Floats(2.0000714765e-1f));
  p = multiply_add(p, f, Floats(-2.4999993993e-1f));
  return multiply_add(p, f, Floats(3.3333331174e-1f));
}
/// The logarithm outside the series' domain: of negative numbers, zeros, infinity and NaN.
FULGURITE_INLINE Floats log_special(const Floats& x, const Floats& value) {
  const Floats infinity(__builtin_inff());
  Floats result = select(x < infinity, value, x);  // infinity and NaN
  result = select(x < Floats(0.f), Floats(__builtin_nanf("")), result);
  return select(x == Floats(0.f), -infinity, result);
}
FULGURITE_INLINE Floats log(const Floats& x) {
  const Decomposed d = decompose(x);
  const Floats f = d.fraction, square = f * f;
  Floats y = multiply_add(log_tail(f) * f, square, d.exponent * Floats(-2.12194440e-4f));
  y = multiply_add(square, Floats(-0.5f), y);
  return log_special(x, multiply_add(d.exponent, Floats(0.693359375f), f + y));
}
/// ln(1 + f) in two parts, times a factor given in two parts, plus exponent * `unit` (the exponents' part must be
/// exact).
FULGURITE_INLINE Floats log_in_base(const Floats& x, float factor_high, float factor_low, float unit_high,
                                    float unit_low) {
  const Decomposed d = decompose(x);
  const Floats f = d.fraction, square = f * f;
  const Floats low = multiply_add(log_tail(f) * f, square, square * Floats(-0.5f));
  Floats y = multiply_add(low, Floats(factor_low), f * Floats(factor_low));
  y = multiply_add(d.exponent, Floats(unit_low), y);
  y = multiply_add(low, Floats(factor_high), y);
  y = multiply_add(f, Floats(factor_high), y);
  return log_special(x, multiply_add(d.exponent, Floats(unit_high), y));
}
FULGURITE_INLINE Floats log2(const Floats& x) { return log_in_base(x, 1.44238281f, 3.12232e-4f, 1.f, 0.f); }
FULGURITE_INLINE Floats log10(const Floats& x) {
  return log_in_base(x, 0.43432617f, -3.168774e-5f, 0.301025391f, 4.605039e-6f);
}
FULGURITE_INLINE Floats log1p(const Floats& x) {
  // ln(1 + x) = ln(u) + (u's rounding error) / u.
  const Floats u = x + Floats(1.f);
  const Floats lost = select(x > Floats(1.f), (Floats(1.f) - (u - x)), x - (u - Floats(1.f)));
  const Ints plain = abs(x) < Floats(0x1p-24f);
  const Ints infinite = u == Floats(__builtin_inff());
  const Floats correction = select(infinite | (u == Floats(0.f)), Floats(0.f), lost / u);
  return select(plain, x, log(u) + correction);
}

FULGURITE_INLINE Floats tanh(const Floats& x) {
  const Floats magnitude = abs(x), z = x * x;
  Floats p = multiply_add(Floats(-5.70498872745e-3f), z, Floats(2.06390887954e-2f));
  p = multiply_add(p, z, Floats(-5.37397155531e-2f));
  p = multiply_add(p, z, Floats(1.33314422036e-1f));
  p = multiply_add(p, z, Floats(-3.33332819422e-1f));
  const Floats small = multiply_add(p * z, x, x);
  const Floats large = Floats(1.f) - Floats(2.f) / (exp(magnitude + magnitude) + Floats(1.f));
  return select(magnitude < Floats(0.625f), small, copy_sign(large, x));
}
FULGURITE_INLINE Floats sigmoid(const Floats& x) {
  const Floats e = exp_of_small(-abs(x));
  return select(x < Floats(0.f), e, Floats(1.f)) / (Floats(1.f) + e);
}

FULGURITE_INLINE Floats erf(const Floats& x) {
  // The result is 1 past 4.
  const Floats t = lesser_or_second(Floats(4.f), abs(x)), s = t * t;
  Floats r = multiply_add(Floats(-1.72853470e-5f), t, Floats(3.83197126e-4f));
  const Floats u = multiply_add(Floats(-3.88396438e-3f), t, Floats(2.42546219e-2f));
  r = multiply_add(r, s, u);
  r = multiply_add(r, t, Floats(-1.06777877e-1f));
  r = multiply_add(r, t, Floats(-6.34846687e-1f));
  r = multiply_add(r, t, Floats(-1.28717512e-1f));
  r = multiply_add(r, t, -t);
  const Floats large = Floats(1.f) - exp_in_range(r);
  Floats q = multiply_add(Floats(-5.96761703e-4f), s, Floats(4.99119423e-3f));
  q = multiply_add(q, s, Floats(-2.67681349e-2f));
  q = multiply_add(q, s, Floats(1.12819925e-1f));
  q = multiply_add(q, s, Floats(-3.76125336e-1f));
  q = multiply_add(q, s, Floats(1.28379166e-1f));
  const Floats small = multiply_add(q, t, t);
  return copy_sign(select(t > Floats(0.927734375f), large, small), x);
}

/// A normally distributed number is above y with the probability scale(ratio * (1 + growth), shifted, n), and e^(-y^2 /
/// 2) is scale(1 + growth, shifted, n).
struct NormalTail {
  Floats ratio, growth, shifted, n;
};
/// The argument of normal_tail for |x|: 0 remains of tail and bell past 14.5.
FULGURITE_INLINE Floats tail_argument(const Floats& x) {
  constexpr float no_tail = zero_power < -256 ? 27 : 18.75f;  // e^(-y^2 / 2) is about 2^zero_power
  const Floats size = abs(x);
  return select(size > Floats(14.5f), Floats(no_tail), size);
}
/// For y from 0 to 27, or NaN. The ratio (Mills') is a polynomial of (y - 2.5) / (y + 2.5), with a relative error of
/// 1e-8 up to 4, 1e-5 beyond.
FULGURITE_INLINE NormalTail normal_tail(const Floats& y) {
  // y^2 in two parts, the first exact: the square of y rounded to 12 bits.
  const Floats rounding = from_bits(bits_of(y) & Ints(0x7f800000)) * Floats(0x1.8p12f);
  const Floats upper = (y + rounding) - rounding, square = upper * upper;
  const Floats rest = (y + upper) * (y - upper);
  const Floats shifted = multiply_add(square, Floats(-0.72134752044448170f), Floats(0x1.8p23f));
  const Floats n = integer_of(shifted);
  Floats r = multiply_add(square, Floats(-0.5f), n * Floats(-0.693359375f));
  r = multiply_add(n, Floats(2.12194440e-4f), r);
  r = multiply_add(rest, Floats(-0.5f), r);
  const Floats growth = multiply_add(exp_tail(r) * r, r, r);
  // Evaluated at `upper`, for which the sums are exact; from there along the slope y * ratio - 1 / sqrt(2 pi).
  const Floats q = (upper - Floats(2.5f)) / (upper + Floats(2.5f));
  Floats p = multiply_add(Floats(-3.85381973e-05f), q, Floats(-0.000226358912f));
  p = multiply_add(p, q, Floats(-0.0003383242f));
  p = multiply_add(p, q, Floats(0.000841605302f));
  p = multiply_add(p, q, Floats(0.00295162341f));
  p = multiply_add(p, q, Floats(-0.00512711937f));
  p = multiply_add(p, q, Floats(-0.0245496035f));
  p = multiply_add(p, q, Floats(0.113135941f));
  p = multiply_add(p, q, Floats(-0.228069767f));
  const Floats ratio = multiply_add(p, q, Floats(0.14133133f)),
               slope = multiply_add(upper, ratio, Floats(-0.398942280f));
  return {multiply_add(y - upper, slope, ratio), growth, shifted, n};
}

FULGURITE_INLINE Floats bell_of(const NormalTail& x) { return scale(x.growth + Floats(1.f), x.shifted, x.n); }
/// The tail probability times a factor, with few roundings.
FULGURITE_INLINE Floats times_tail(const Floats& factor, const NormalTail& x) {
  const Floats product = factor * x.ratio;
  return scale(multiply_add(product, x.growth, product), x.shifted, x.n);
}

/// x / (1 + e^-x); NaN for -infinity, as that quotient is.
FULGURITE_INLINE Floats silu(const Floats& x) {
  // The exponent is applied last: e^x alone would be subnormal, and rounded, where the product is still a normal
  // number.
  const Floats below = -abs(x);  // 0 remains of its product past -110
  const Floats size = select(below < Floats(-110.f), Floats(zero_power * 0.69314718f), below);
  const ExpParts e = exp_parts(size);
  const Floats above = select(x < Floats(0.f), scale(size * e.fraction, e.shifted, e.n), x);
  const Floats result = above / (Floats(1.f) + scale(e.fraction, e.shifted, e.n));
  return select(x == Floats(-__builtin_inff()), Floats(__builtin_nanf("")), result);
}

inline constexpr float largest_turn = 30000;  // turn_of would lose digits past it

/// The nearest number of quarter turns, in its lowest bits, and sine and cosine of the remainder.
struct Turn {
  Ints quarters;
  Floats sine, cosine;
};
FULGURITE_INLINE Turn turn_of(const Floats& x) {
  const Floats shifted = multiply_add(x, Floats(0.636619772367581343f), Floats(0x1.8p23f));
  const Floats k = shifted - Floats(0x1.8p23f);
  // pi/2 in four parts; the products with the first two are exact, and `low` is the rounding error of r.
  Floats rest = multiply_add(k, Floats(-1.5703125f), x);
  rest = multiply_add(k, Floats(-4.8351287841796875e-4f), rest);
  const Floats nearly = multiply_add(k, Floats(-3.13855707645416259765625e-7f), rest);
  const Floats lost = multiply_add(k, Floats(-3.13855707645416259765625e-7f), rest - nearly);
  const Floats last = multiply_add(k, Floats(-6.07710050630396597660e-11f), lost);
  const Floats r = nearly + last, low = last - (r - nearly);
  const Floats z = r * r;
  Floats s = multiply_add(Floats(-1.9515295891e-4f), z, Floats(8.3321608736e-3f));
  s = multiply_add(s, z, Floats(-1.6666654611e-1f));
  Floats c = multiply_add(Floats(2.443315711809948e-5f), z, Floats(-1.388731625493765e-3f));
  c = multiply_add(c, z, Floats(4.166664568298827e-2f));
  const Floats high = multiply_add(Floats(-0.5f), z, Floats(1.f));
  const Floats lost_of_high = multiply_add(Floats(-0.5f), z, Floats(1.f) - high);
  return {bits_of(shifted), r + multiply_add(s * z, r, low),
          high + multiply_add(c * z, z, multiply_add(-low, r, lost_of_high))};
}

/// The values of f, one by one, in the lanes of large angles, and only there: an element's value does not depend on
/// its neighbours.
template <class Function>
FULGURITE_INLINE Floats with_large_angles(const Floats& x, const Floats& value, Function f) {
  const Ints is_large = abs(x) > Floats(largest_turn);
  if (!any(is_large)) [[likely]]
    return value;
  float one[lanes];
  store(one, x);
  for (int lane = 0; lane < lanes; ++lane) one[lane] = f(one[lane]);
  return select(is_large, load(one), value);
}
/// sin(x + quarter * pi / 2).
FULGURITE_INLINE Floats sine(const Floats& x, int quarter) {
  const Turn turn = turn_of(x);
  const Ints n = turn.quarters + Ints(quarter);
  const Floats value = select((n & Ints(1)) != Ints(0), turn.cosine, turn.sine);
  const Floats turned = from_bits(bits_of(value) ^ shift_left(n & Ints(2), 30));
  return with_large_angles(x, turned, [&](float one) { return quarter ? __builtin_cosf(one) : __builtin_sinf(one); });
}
FULGURITE_INLINE Floats sin(const Floats& x) { return select(x == Floats(0.f), x, sine(x, 0)); }
FULGURITE_INLINE Floats cos(const Floats& x) { return sine(x, 1); }

}  // namespace fulgurite::FULGURITE_KERNELS
