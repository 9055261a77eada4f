// Transposes sixteen vectors of sixteen 32-bit lanes in registers.
#pragma once
#include "codegen/device_lib/vector.h"

namespace fulgurite::FULGURITE_KERNELS {

#if defined(__AVX2__)

// Swaps lane l of vector v and lane v of vector l, one bit of the two indices at a time.
#if defined(__AVX512F__)
#define FULGURITE_LANES(of) \
  of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7), of(8), of(9), of(10), of(11), of(12), of(13), of(14), of(15)
#else
#define FULGURITE_LANES(of) of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7)
#endif
#define FULGURITE_KEPT(l) (l & bit ? part_lanes + l - bit : l)
#define FULGURITE_TAKEN(l) (l & bit ? part_lanes + l : l + bit)
template <int bit>
FULGURITE_INLINE void exchange_lanes(IntPart& a, IntPart& b) {
  const IntPart kept = __builtin_shufflevector(a, b, FULGURITE_LANES(FULGURITE_KEPT));
  b = __builtin_shufflevector(a, b, FULGURITE_LANES(FULGURITE_TAKEN));
  a = kept;
}
template <int bit>
FULGURITE_INLINE void exchange(Ints& a, Ints& b) {
  if constexpr (bit >= part_lanes) {
    const IntPart moved = a.part[parts - 1];
    a.part[parts - 1] = b.part[0];
    b.part[0] = moved;
  } else {
    FULGURITE_EACH_PART(exchange_lanes<bit>(a.part[p], b.part[p]));
  }
}
#undef FULGURITE_TAKEN
#undef FULGURITE_KEPT
#undef FULGURITE_LANES
template <int bit = 8>
FULGURITE_INLINE void transpose(Ints (&square)[16]) {
  _Pragma("GCC unroll 16") for (int v = 0; v < 16; ++v) if ((v & bit) == 0) exchange<bit>(square[v], square[v + bit]);
  if constexpr (bit > 1) transpose<bit / 2>(square);
}

#endif

}  // namespace fulgurite::FULGURITE_KERNELS
