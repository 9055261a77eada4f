// Arithmetic of integers in lanes, conversions, and the rounding of f32 to the 16-bit floating dtypes.
#pragma once
#include "codegen/device_lib/memory.h"

namespace fulgurite::FULGURITE_KERNELS {

FULGURITE_INLINE Ints operator*(const Ints& a, const Ints& b) {
  Ints result;
  FULGURITE_EACH_PART(result.part[p] = (IntPart)((UnsignedPart)a.part[p] * (UnsignedPart)b.part[p]));
  return result;
}
FULGURITE_INLINE Ints operator-(const Ints& a) { return Ints(0) - a; }
FULGURITE_INLINE Ints maximum(const Ints& a, const Ints& b) { return select(a > b, a, b); }
FULGURITE_INLINE Ints minimum(const Ints& a, const Ints& b) { return select(a < b, a, b); }
FULGURITE_INLINE Ints abs(const Ints& a) { return select(a < Ints(0), -a, a); }
FULGURITE_INLINE Ints sign(const Ints& a) { return (a < Ints(0)) - (a > Ints(0)); }
FULGURITE_INLINE Floats sign(const Floats& x) {
  return select(x > Floats(0.f), Floats(1.f), select(x < Floats(0.f), Floats(-1.f), Floats(0.f)));
}
/// Converts toward zero.
FULGURITE_INLINE Ints to_ints(const Floats& a) {
  Ints result;
  FULGURITE_EACH_PART(result.part[p] = __builtin_convertvector(a.part[p], IntPart));
  return result;
}
/// Converts a comparison's mask: 1 where it holds, else 0.
FULGURITE_INLINE Ints to_numbers(const Ints& mask) { return mask & Ints(1); }
/// Truncates (wraps) an integer to a narrower type.
FULGURITE_INLINE Ints wrap_16(const Ints& a) { return shift_right_signed(shift_left(a, 16), 16); }
FULGURITE_INLINE Ints wrap_8(const Ints& a) { return shift_right_signed(shift_left(a, 24), 24); }
FULGURITE_INLINE Ints wrap_unsigned_8(const Ints& a) { return a & Ints(255); }
// Rounds as a store into bf16 or f16 would: adds half a unit, and an odd number's last bit. The upper halves are the
// result.
FULGURITE_INLINE Ints with_half_a_bfloat16(const Floats& x) {
  const Ints bits = bits_of(x), upper = shift_right(bits, 16);
#if defined(__AVX512F__)
  // In the lowest place the odd bit decides a tie as well as added, and one instruction puts it there.
  Ints decided = bits;
  const Ints odd(1);
  asm("vpternlogd $0xf8, %2, %1, %0" : "+v"(decided.part[0]) : "v"(upper.part[0]), "v"(odd.part[0]));
  return decided + Ints(0x7fff);
#else
  return bits + Ints(0x7fff) + (upper & Ints(1));
#endif
}
/// The same, but NaN becomes quiet.
FULGURITE_INLINE Ints with_bfloat16_above(const Floats& x) {
#if defined(__AVX512F__)
  Ints rounded = with_half_a_bfloat16(x);
  const Ints quiet_for_both_kinds(0x22);
  asm("vfixupimmps $0, %2, %1, %0" : "+v"(rounded.part[0]) : "v"(x.part[0]), "v"(quiet_for_both_kinds.part[0]));
  return rounded;
#else
  return select(x != x, bits_of(x) | Ints(0x400000), with_half_a_bfloat16(x));
#endif
}
FULGURITE_INLINE Floats round_to_bfloat16(const Floats& x) {
  return from_bits(with_bfloat16_above(x) & Ints((int)0xffff0000u));
}
/// For values computed from bf16 alone: NaN has no bits below those of bf16, so that adding half a unit changes none
/// above.
FULGURITE_INLINE Floats round_inside_bfloat16(const Floats& x) {
  return from_bits(with_half_a_bfloat16(x) & Ints((int)0xffff0000u));
}
FULGURITE_INLINE Floats round_to_float16(const Floats& x) {
  Floats result;
#if defined(__F16C__)
  FULGURITE_EACH_PART(HalfPart halves; asm("vcvtps2ph $0, %1, %0"
                                           : "=v"(halves)
                                           : "v"(x.part[p]));
                      asm("vcvtph2ps %1, %0"
                          : "=v"(result.part[p])
                          : "v"(halves)));
#else
  result = from_float16_bits(float16_bits(x));
#endif
  return result;
}
/// Exact bf16 numbers, which a store need not round.
struct ExactBFloat16 {
  Ints halves;
};
FULGURITE_INLINE ExactBFloat16 exact_bfloat16(const Floats& x) { return {shift_right(bits_of(x), 16)}; }
FULGURITE_INLINE ExactBFloat16 to_exact_bfloat16(const Floats& x) { return {shift_right(with_bfloat16_above(x), 16)}; }
FULGURITE_INLINE ExactBFloat16 inside_bfloat16(const Floats& x) { return {shift_right(with_half_a_bfloat16(x), 16)}; }

}  // namespace fulgurite::FULGURITE_KERNELS
