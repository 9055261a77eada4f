#pragma once
#if defined(__AVX512BF16__)
#include <immintrin.h>
#endif

#include "codegen/device_lib/amx.h"
#include "executors/eager/kernels/linalg/tile.h"

// Small bf16 GEMMs on pairs along K: by the instruction that multiplies two neighbours and adds both to a sum in f32
// (vdpbf16ps), with tile.h's tiles in registers, or by AMX. Subnormal numbers count as zeros. On CPUs with neither this
// is slow and exists for tests.
namespace fulgurite::FULGURITE_KERNELS {

/// Two bf16, the first one in the lower half. Any two neighbours in memory form one, at any alignment.
struct [[gnu::packed, gnu::may_alias]] Pair {
  uint32_t bits;
};
FULGURITE_INLINE Ints load(const Pair* from) {
  typedef int Part __attribute__((vector_size(part_bytes), aligned(1), may_alias));
  Ints result;
  FULGURITE_EACH_PART(result.part[p] = *reinterpret_cast<const Part*>(from + p * part_lanes));
  return result;
}
FULGURITE_INLINE void store(Pair* to, const Ints& value) {
  typedef int Part __attribute__((vector_size(part_bytes), aligned(1), may_alias));
  FULGURITE_EACH_PART(*reinterpret_cast<Part*>(to + p * part_lanes) = value.part[p]);
}
constexpr int64_t up_to(int64_t count, int64_t unit) { return (count + unit - 1) / unit * unit; }

#if defined(FULGURITE_AMX)

inline constexpr bool is_amx = true;
/// Reserves the AMX tiles of this thread for its lifetime.
using GemmRegisters = Amx;
// Columns of a panel of the right factors; rows of sums that are computed at a time; rows, and pairs along K, that are
// read at a time.
inline constexpr int64_t panel = 32, product_rows = 32, row_unit = 16, depth_unit = 16;

// For AMX only: any alignment.
FULGURITE_INLINE const int* integers_at(const Pair* pairs) {
  const void* const memory = pairs;
  return static_cast<const int*>(memory);
}
/// Computes `rows` rows of to = left · right, or of to + left · right: reads K in whole units, padded with zeros in one
/// factor and with finite numbers in the other. Reads `left`, and writes `to`, in whole units of rows, of 16 and 32,
/// and in whole panels.
inline void multiply_pairs(int64_t rows, int64_t columns, int64_t depth, const Pair* left, int64_t left_stride,
                           PanelOperand<Pair> right, float* to, int64_t to_stride, bool accumulate) {
  for (int64_t c = 0; c < columns; c += panel, right.data += right.panel_stride) {
    const int* const panels = integers_at(right.data);
    for (int64_t r = 0; r < rows; r += product_rows) {
      const int* const first = integers_at(left + r * left_stride);
      const TwoTiles left_tiles{first, first + 16 * left_stride, left_stride * 4, 16};
      const TwoTiles right_tiles{panels, panels + 16, right.stride * 4, 16 * right.stride};
      multiply_tiles(to + r * to_stride + c, to_stride, left_tiles, right_tiles, depth, !accumulate, rows - r > 16,
                     columns - c > 16, [](long) {});
    }
  }
}

#else

inline constexpr bool is_amx = false;
struct GemmRegisters {};
inline constexpr int64_t panel = panel_columns<float>, product_rows = tile_rows, row_unit = 1, depth_unit = 1;

template <>
struct Wide<Pair> {
  typedef int type __attribute__((vector_size(part_bytes)));
  typedef int unaligned __attribute__((vector_size(part_bytes), aligned(2), may_alias));
};
/// sum + x.first * values.first + x.second * values.second, lane by lane.
template <class T>
[[gnu::always_inline]] inline FloatPart add_products(const FloatPart& sum, Pair x, const IntPart& values) {
#if defined(__AVX512BF16__)
  return (FloatPart)_mm512_dpbf16_ps((__m512)sum, (__m512bh)_mm512_set1_epi32(static_cast<int>(x.bits)),
                                     (__m512bh)values);
#else
  const IntPart factors = IntPart{} + static_cast<int>(x.bits), upper_half = IntPart{} + static_cast<int>(0xffff0000U);
  const FloatPart with_second = multiply_add((FloatPart)(factors & upper_half), (FloatPart)(values & upper_half), sum);
  return multiply_add((FloatPart)((UnsignedPart)factors << 16), (FloatPart)((UnsignedPart)values << 16), with_second);
#endif
}

/// Computes `rows` rows of to = left · right, or of to + left · right.
inline void multiply_pairs(int64_t rows, int64_t columns, int64_t depth, const Pair* left, int64_t left_stride,
                           const PanelOperand<Pair>& right, float* to, int64_t to_stride, bool accumulate) {
  multiply_rows<float, false>(rows, columns, depth, left, left_stride, right, to, to_stride, accumulate);
}

#endif

/// The number of pairs for `count` numbers, the last one perhaps incomplete, in whole units.
constexpr int64_t depth_of(int64_t count) { return up_to((count + 1) / 2, depth_unit); }

}  // namespace fulgurite::FULGURITE_KERNELS
