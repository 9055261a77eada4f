// Non-temporal stores, for results that will have left the caches before they are read: avoids fetching memory only to
// overwrite it.
#pragma once
#include "codegen/device_lib/memory.h"

namespace fulgurite::FULGURITE_KERNELS {

/// A row of a result that is written once, and not read by the kernel that writes it.
template <class Element>
struct ResultRow {
  Element* first;
  // whole vectors use non-temporal stores; requires a row aligned to 64 bytes, and is not used for one-byte elements
  bool is_streamed;
  __attribute__((always_inline)) ResultRow(Element* row, bool streams)
      : first(row), is_streamed(streams && sizeof(Element) > 1 && (unsigned long)row % 64 == 0) {}
};

template <class Part>
FULGURITE_INLINE void stream_part(void* to, const Part& value) {
  typedef Part Target __attribute__((may_alias));
#if defined(__AVX__)
  asm("vmovntps %1, %0" : "=m"(*(Target*)to) : "v"(value));
#else
  *(Target*)to = value;
#endif
}
FULGURITE_INLINE void stream(float* to, const Floats& value) {
  FULGURITE_EACH_PART(stream_part(to + p * part_lanes, value.part[p]));
}
FULGURITE_INLINE void stream(int* to, const Ints& value) {
  FULGURITE_EACH_PART(stream_part(to + p * part_lanes, value.part[p]));
}
FULGURITE_INLINE void stream_halves(void* to, const Ints& value) {
  FULGURITE_EACH_PART(stream_part((unsigned short*)to + p * part_lanes, low_halves(value.part[p])));
}
FULGURITE_INLINE void stream(short* to, const Ints& value) { stream_halves(to, value); }
FULGURITE_INLINE void stream(BFloat16* to, const Floats& value) { stream_halves(to, bfloat16_bits(value)); }
FULGURITE_INLINE void stream(Float16* to, const Floats& value) { stream_halves(to, float16_bits(value)); }
#if defined(__F16C__)
// Conversions of the CPU have the bits of device_lib/memory.h's.
struct ExactFloat16 {
  HalfPart part[parts];
};
FULGURITE_INLINE ExactFloat16 to_exact_float16(const Floats& x) {
  ExactFloat16 result;
  FULGURITE_EACH_PART(asm("vcvtps2ph $0, %1, %0" : "=v"(result.part[p]) : "v"(x.part[p])));
  return result;
}
FULGURITE_INLINE Floats from_float16(const Float16* from) {
  typedef unsigned short Part __attribute__((vector_size(part_bytes / 2), aligned(2), may_alias));
  Floats result;
  FULGURITE_EACH_PART(asm("vcvtph2ps %1, %0"
                          : "=v"(result.part[p])
                          : "m"(*(const Part*)(&from->bits + p * part_lanes))));
  return result;
}
FULGURITE_INLINE void stream(Float16* to, const ExactFloat16& value) {
  FULGURITE_EACH_PART(stream_part(to + p * part_lanes, value.part[p]));
}
#endif

}  // namespace fulgurite::FULGURITE_KERNELS
