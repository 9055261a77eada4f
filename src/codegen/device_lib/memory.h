// Sixteen elements in memory: loads of each dtype into 32-bit lanes, and stores.
#pragma once
#include "codegen/device_lib/vector.h"

namespace fulgurite::FULGURITE_KERNELS {

// Any alignment.
FULGURITE_INLINE Floats load(const float* from) {
  typedef float Part __attribute__((vector_size(part_bytes), aligned(4), may_alias));
  Floats result;
  FULGURITE_EACH_PART(result.part[p] = *(const Part*)(from + p * part_lanes));
  return result;
}
FULGURITE_INLINE void store(float* to, const Floats& value) {
  typedef float Part __attribute__((vector_size(part_bytes), aligned(4), may_alias));
  FULGURITE_EACH_PART(*(Part*)(to + p * part_lanes) = value.part[p]);
}
FULGURITE_INLINE Ints load(const int* from) {
  typedef int Part __attribute__((vector_size(part_bytes), aligned(4), may_alias));
  Ints result;
  FULGURITE_EACH_PART(result.part[p] = *(const Part*)(from + p * part_lanes));
  return result;
}
FULGURITE_INLINE void store(int* to, const Ints& value) {
  typedef int Part __attribute__((vector_size(part_bytes), aligned(4), may_alias));
  FULGURITE_EACH_PART(*(Part*)(to + p * part_lanes) = value.part[p]);
}
/// Loads sixteen 16-bit numbers, widened.
FULGURITE_INLINE Ints load_halves(const unsigned short* from) {
  typedef unsigned short Part __attribute__((vector_size(part_bytes / 2), aligned(2), may_alias));
  Ints result;
  // The builtin becomes five instructions in g++ 12.
#if defined(__AVX2__)
  FULGURITE_EACH_PART(asm("vpmovzxwd %1, %0" : "=v"(result.part[p]) : "m"(*(const Part*)(from + p * part_lanes))));
#else
  FULGURITE_EACH_PART(result.part[p] =
                          (IntPart) __builtin_convertvector(*(const Part*)(from + p * part_lanes), UnsignedPart));
#endif
  return result;
}
FULGURITE_INLINE HalfPart low_halves(const IntPart& value) {
#if defined(__AVX512F__)
  HalfPart halves;
  asm("vpmovdw %1, %0" : "=v"(halves) : "v"(value));
  return halves;
#else
  return __builtin_convertvector((UnsignedPart)value, HalfPart);
#endif
}
FULGURITE_INLINE void store_halves(unsigned short* to, const Ints& value) {
  typedef unsigned short Part __attribute__((vector_size(part_bytes / 2), aligned(2), may_alias));
  FULGURITE_EACH_PART(*(Part*)(to + p * part_lanes) = low_halves(value.part[p]));
}
/// Loads sixteen bytes, zero-extended.
FULGURITE_INLINE Ints load_bytes(const unsigned char* from) {
  typedef unsigned char Part __attribute__((vector_size(part_bytes / 4), aligned(1), may_alias));
  Ints result;
#if defined(__AVX2__)
  FULGURITE_EACH_PART(asm("vpmovzxbd %1, %0" : "=v"(result.part[p]) : "m"(*(const Part*)(from + p * part_lanes))));
#else
  FULGURITE_EACH_PART(result.part[p] =
                          (IntPart) __builtin_convertvector(*(const Part*)(from + p * part_lanes), UnsignedPart));
#endif
  return result;
}
typedef unsigned char BytePart __attribute__((vector_size(part_bytes / 4)));
FULGURITE_INLINE BytePart low_bytes(const IntPart& value) {
#if defined(__AVX512F__)
  BytePart bytes;
  asm("vpmovdb %1, %0" : "=v"(bytes) : "v"(value));
  return bytes;
#else
  return __builtin_convertvector((UnsignedPart)value, BytePart);
#endif
}
FULGURITE_INLINE void store_bytes(unsigned char* to, const Ints& value) {
  typedef unsigned char Part __attribute__((vector_size(part_bytes / 4), aligned(1), may_alias));
  FULGURITE_EACH_PART(*(Part*)(to + p * part_lanes) = low_bytes(value.part[p]));
}

// bf16 is the upper half of a float; rounding is to nearest, ties to even.
FULGURITE_INLINE Ints bfloat16_bits(const Floats& value) {
  const Ints bits = bits_of(value);
  const Ints rounded = shift_right(bits + Ints(0x7fff) + (shift_right(bits, 16) & Ints(1)), 16);
  const Ints quiet = shift_right(bits, 16) | Ints(0x40);
  return select(value != value, quiet, rounded);
}
FULGURITE_INLINE Floats load(const BFloat16* from) { return from_bits(shift_left(load_halves(&from->bits), 16)); }
FULGURITE_INLINE void store(BFloat16* to, const Floats& value) { store_halves(&to->bits, bfloat16_bits(value)); }
FULGURITE_INLINE Floats from_float16_bits(const Ints& half) {
  const Ints sign = shift_left(half & Ints(0x8000), 16);
  const Ints magnitude = shift_left(half & Ints(0x7fff), 13);
  // Moves the exponent by a multiplication with 2^112, which also normalises subnormal numbers; infinities and NaN keep
  // all ones.
  const Floats scaled = from_bits(magnitude) * Floats(0x1p112f);
  const Ints special = magnitude >= Ints(0x0f800000);
  const Ints bits = select(special, magnitude | Ints(0x7f800000), bits_of(scaled));
  return from_bits(bits | sign);
}
FULGURITE_INLINE Ints float16_bits(const Floats& value) {
  const Ints bits = bits_of(value);
  const Ints sign = shift_right(bits, 16) & Ints(0x8000);
  const Ints magnitude = bits & Ints(0x7fffffff);
  const Ints normal =
      shift_right(magnitude - Ints(112 << 23) + Ints(0xfff) + (shift_right(magnitude, 13) & Ints(1)), 13);
  // Adding 0.5 leaves a small number's rounded bits at the low end.
  const Ints small = bits_of(from_bits(magnitude) + Floats(0.5f)) - Ints(0x3f000000);
  Ints half = select(magnitude < Ints(113 << 23), small, normal);
  half = select(magnitude >= Ints(0x477ff000), Ints(0x7c00), half);
  half = select(magnitude > Ints(0x7f800000), Ints(0x7e00) | shift_right(magnitude & Ints(0x7fffff), 13), half);
  return half | sign;
}
FULGURITE_INLINE Floats load(const Float16* from) { return from_float16_bits(load_halves(&from->bits)); }
FULGURITE_INLINE void store(Float16* to, const Floats& value) { store_halves(&to->bits, float16_bits(value)); }

/// The first `count` (below 16) elements; the lanes after them are `fill`.
template <class Element>
FULGURITE_INLINE Floats load_some(const Element* from, long count, Element fill = Element{}) {
  Element buffer[lanes];
  for (int lane = 0; lane < lanes; ++lane) buffer[lane] = fill;
  __builtin_memcpy(buffer, from, count * sizeof(Element));
  return load(buffer);
}
template <class Element>
FULGURITE_INLINE void store_some(Element* to, const Floats& value, long count) {
  Element buffer[lanes];
  store(buffer, value);
  __builtin_memcpy(to, buffer, count * sizeof(Element));
}

}  // namespace fulgurite::FULGURITE_KERNELS
