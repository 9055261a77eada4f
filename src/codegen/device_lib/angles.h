// Tangent, inverse trigonometric functions and remainders on vector.h's lanes: within 4 units in the last place.
#pragma once
#include "codegen/device_lib/math.h"

namespace fulgurite::FULGURITE_KERNELS {

FULGURITE_INLINE Floats tan(const Floats& x) {
  const Turn turn = turn_of(x);
  const Ints is_odd = (turn.quarters & Ints(1)) != Ints(0);
  const Floats value = select(is_odd, -turn.cosine, turn.sine) / select(is_odd, turn.sine, turn.cosine);
  return with_large_angles(x, select(x == Floats(0.f), x, value), [](float one) { return __builtin_tanf(one); });
}

/// (asin(r) - r) / r^3 for z = r^2, r <= 1/2.
FULGURITE_INLINE Floats asin_tail(const Floats& z) {
  Floats p = multiply_add(Floats(4.2163199048e-2f), z, Floats(2.4181311049e-2f));
  p = multiply_add(p, z, Floats(4.5470025998e-2f));
  p = multiply_add(p, z, Floats(7.4953002686e-2f));
  return multiply_add(p, z, Floats(1.6666752422e-1f));
}
/// asin(|x|) / 2 where |x| <= 1/2, else acos(|x|) / 2: the half angle's sine is sqrt((1 - |x|) / 2).
FULGURITE_INLINE Floats small_arc(const Floats& size, const Ints& is_large) {
  const Floats z = select(is_large, (Floats(1.f) - size) * Floats(0.5f), size * size);
  const Floats r = select(is_large, sqrt(z), size);
  return multiply_add(asin_tail(z) * z, r, r);
}
inline constexpr float half_pi = 1.57079632679489662f, half_pi_rest = -4.37113883e-8f;

FULGURITE_INLINE Floats asin(const Floats& x) {
  const Floats size = abs(x);
  const Ints is_large = size > Floats(0.5f);
  const Floats arc = small_arc(size, is_large);
  const Floats complement = multiply_add(arc, Floats(-2.f), Floats(half_pi_rest)) + Floats(half_pi);
  return copy_sign(select(is_large, complement, arc), x);
}
FULGURITE_INLINE Floats acos(const Floats& x) {
  const Floats size = abs(x);
  const Ints is_large = size > Floats(0.5f);
  const Floats arc = small_arc(size, is_large), twice = arc + arc;
  const Floats large = select(x < Floats(0.f), (Floats(2 * half_pi_rest) - twice) + Floats(2 * half_pi), twice);
  const Floats signed_arc = copy_sign(arc, x);
  const Floats small = (Floats(half_pi_rest) - signed_arc) + Floats(half_pi);
  return select(is_large | (x != x), large, small);
}

/// atan(x) for x in [0, 1].
FULGURITE_INLINE Floats atan_of_ratio(const Floats& x) {
  const Ints is_large = x > Floats(0.414213562373095f);  // tan(pi / 8)
  const Floats t = select(is_large, (x - Floats(1.f)) / (x + Floats(1.f)), x), z = t * t;
  Floats p = multiply_add(Floats(8.05374449538e-2f), z, Floats(-1.38776856032e-1f));
  p = multiply_add(p, z, Floats(1.99777106478e-1f));
  p = multiply_add(p, z, Floats(-3.33329491539e-1f));
  return multiply_add(p * z, t, t) + select(is_large, Floats(0.5f * half_pi), Floats(0.f));
}
FULGURITE_INLINE Floats atan(const Floats& x) {
  const Floats size = abs(x);
  const Ints is_large = size > Floats(1.f);
  const Floats arc = atan_of_ratio(select(is_large, Floats(1.f) / size, size));
  return copy_sign(select(is_large, (Floats(half_pi_rest) - arc) + Floats(half_pi), arc), x);
}
/// The angle of the point (x, y).
FULGURITE_INLINE Floats atan2(const Floats& y, const Floats& x) {
  const Floats width = abs(x), height = abs(y);
  const Ints is_steep = height > width;
  const Floats low = select(is_steep, width, height), high = select(is_steep, height, width);
  // 0 / 0 and infinity / infinity have angles too.
  const Floats ratio = select(low == high, select(high == Floats(0.f), Floats(0.f), Floats(1.f)), low / high);
  Floats arc = atan_of_ratio(ratio);
  arc = select(is_steep, (Floats(half_pi_rest) - arc) + Floats(half_pi), arc);
  const Ints is_left = bits_of(x) < Ints(0);
  arc = select(is_left, (Floats(2 * half_pi_rest) - arc) + Floats(2 * half_pi), arc);
  return select((x != x) | (y != y), x + y, copy_sign(arc, y));
}

/// Exact fmod(a, b), with a's sign.
FULGURITE_INLINE Floats fmod(const Floats& a, const Floats& b) {
  const Floats size = abs(a), step = abs(b);
  const Floats count = trunc(size / step);
  // Quotients of up to 12 bits are exact, and so are their products below; infinities, zeros and NaN take the slow
  // path.
  if (any(~(count < Floats(0x1p12f)) | ~(step > Floats(0x1p-100f)) | ~(step < Floats(0x1p126f)))) [[unlikely]] {
    float value[lanes], by[lanes];
    store(value, a);
    store(by, b);
    for (int lane = 0; lane < lanes; ++lane) value[lane] = __builtin_fmodf(value[lane], by[lane]);
    return load(value);
  }
  const Floats upper = from_bits(bits_of(step) & Ints((int)0xfffff000u)), lower = step - upper;
  Floats rest = (size - count * upper) - count * lower;
  rest = select(rest < Floats(0.f), rest + step, rest);
  rest = select(rest >= step, rest - step, rest);
  return copy_sign(rest, a);
}

}  // namespace fulgurite::FULGURITE_KERNELS
