#pragma once
#include <immintrin.h>

#include "executors/eager/kernels/attention.h"

// Products of bf16 by the instruction that multiplies two neighbours and adds both to a sum in f32 (vdpbf16ps). Factors are
// pairs along the summed dimension; tile.h's products take them as they take numbers. Denormal numbers count as zeros.
namespace fulgurite::FULGURITE_KERNELS {

/// Two bf16, the first one in the lower half. Any two neighbours in memory are one, of any alignment.
struct [[gnu::packed, gnu::may_alias]] Pair {
  uint32_t bits;
};
template <>
struct Wide<Pair> {
  typedef int type __attribute__((vector_size(part_bytes)));
  typedef int unaligned __attribute__((vector_size(part_bytes), aligned(2), may_alias));
};
/// sum + x.first * values.first + x.second * values.second, lane by lane.
template <class T>
[[gnu::always_inline]] inline FloatPart add_products(const FloatPart& sum, Pair x, const IntPart& values) {
  return (FloatPart)_mm512_dpbf16_ps((__m512)sum, (__m512bh)_mm512_set1_epi32(static_cast<int>(x.bits)), (__m512bh)values);
}

/// How many pairs `count` numbers are; the last one's second may be missing.
constexpr int64_t pairs_of(int64_t count) { return (count + 1) / 2; }

FULGURITE_INLINE Floats floats_of(__m512 x) {
  Floats result;
  result.part[0] = (FloatPart)x;
  return result;
}
/// 2^x for x <= 128, within 1.5e-7 of it; not a number for what is none.
FULGURITE_INLINE Floats exp2_of_small(const Floats& argument) {
  const __m512 x = _mm512_max_ps(_mm512_set1_ps(-150.f), (__m512)argument.part[0]);
  const __m512 whole = _mm512_roundscale_ps(x, 0);
  const Floats r = floats_of(_mm512_sub_ps(x, whole));
  Floats p = multiply_add(Floats(0.00132647271f), r, Floats(0.00967151265f));
  p = multiply_add(p, r, Floats(0.0555073374f));
  p = multiply_add(p, r, Floats(0.240222421f));
  p = multiply_add(p, r, Floats(0.693146978f));
  p = multiply_add(p, r, Floats(1.f));
  return floats_of(_mm512_scalef_ps((__m512)p.part[0], whole));
}
/// The first `count` lanes, which may be none or more than there are, as a mask.
FULGURITE_INLINE __mmask16 first_of(int64_t count) {
  return static_cast<__mmask16>(_bzhi_u32(0xffff, static_cast<unsigned>(std::clamp<int64_t>(count, 0, lanes))));
}
/// `x` where the mask is set, else zero.
FULGURITE_INLINE Floats keep(__mmask16 mask, const Floats& x) {
  return floats_of(_mm512_maskz_mov_ps(mask, (__m512)x.part[0]));
}
/// Sixteen numbers of each of two rows, as bf16: the first row in the lower half.
FULGURITE_INLINE __m512i narrow_rows(const Floats& first, const Floats& second) {
  return (__m512i)_mm512_cvtne2ps_pbh((__m512)second.part[0], (__m512)first.part[0]);
}
/// The same as sixteen pairs down the rows.
FULGURITE_INLINE void store_pairs(Pair* to, __m512i rows) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5, 20,
                                         4, 19, 3, 18, 2, 17, 1, 16, 0);
  _mm512_storeu_si512(to, _mm512_permutexvar_epi16(order, rows));
}

/// Rows of pairs that a product can take its left factors from: in place where neighbours lie side by side.
struct PairRows {
  const Pair* data;
  int64_t stride;

  PairRows(const BFloat16* from, int64_t row_stride, int64_t column_stride, int64_t rows, int64_t columns, Pair* scratch) {
    if (column_stride == 1 && columns % 2 == 0 && row_stride % 2 == 0) {
      data = reinterpret_cast<const Pair*>(from);
      stride = row_stride / 2;
      return;
    }
    const int64_t width = pairs_of(columns);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < width; ++j) {
        const BFloat16* const at = from + r * row_stride + 2 * j * column_stride;
        const uint32_t second = 2 * j + 1 < columns ? at[column_stride].bits : 0;
        scratch[r * width + j] = {at[0].bits | second << 16};
      }
    data = scratch;
    stride = width;
  }
};

/// Pairs down the rows of a matrix, in panels; rows and columns past the last are zeros. `to` has panel_padded(columns) *
/// pairs_of(rows) elements.
inline void pack_pairs(const BFloat16* from, int64_t row_stride, int64_t column_stride, int64_t rows, int64_t columns,
                       Pair* to) {
  constexpr int64_t width = panel_columns<float>;
  for (int64_t panel = 0; panel < columns; panel += width) {
    const int64_t count = std::min(width, columns - panel);
    for (int64_t k = 0; k < rows; k += 2, to += width) {
      const BFloat16* const first = from + k * row_stride + panel * column_stride;
      const bool has_second = k + 1 < rows;
      const BFloat16* const second = has_second ? first + row_stride : first;
      int64_t j = 0;
      if (column_stride == 1)
        for (; j + lanes <= count; j += lanes) {
          const Ints low = load_halves(&first[j].bits), high = load_halves(&second[j].bits);
          store(reinterpret_cast<int*>(to + j), has_second ? low | shift_left(high, 16) : low);
        }
      for (; j < count; ++j) {
        const uint32_t high = has_second ? second[j * column_stride].bits : 0;
        to[j] = {first[j * column_stride].bits | high << 16};
      }
      for (; j < width; ++j) to[j] = {0};
    }
  }
}

/// Pairs along the rows of a matrix, the matrix turned over, in panels of its rows. `to` has panel_padded(rows) *
/// pairs_of(columns) elements.
inline void pack_turned_pairs(const BFloat16* from, int64_t row_stride, int64_t column_stride, int64_t rows, int64_t columns,
                              Pair* to) {
  constexpr int64_t width = panel_columns<float>;
  const int64_t depth = pairs_of(columns);
  for (int64_t panel = 0; panel < rows; panel += lanes) {
    Pair* const start = to + panel / width * width * depth + panel % width;
    const int64_t count = std::min<int64_t>(lanes, rows - panel);
    const BFloat16* const first = from + panel * row_stride;
    int64_t k = 0;
    if (column_stride == 1 && count == lanes)
      for (; k + lanes <= columns / 2; k += lanes) {
        Wide<Pair>::type square[lanes];
        for (int i = 0; i < lanes; ++i) square[i] = load_wide(reinterpret_cast<const Pair*>(first + i * row_stride) + k);
        exchange_rows<lanes / 2>(square, std::make_integer_sequence<int, lanes>());
        for (int j = 0; j < lanes; ++j) store_wide(start + (k + j) * width, square[j]);
      }
    for (; k < depth; ++k)
      for (int64_t i = 0; i < lanes; ++i) {
        const BFloat16* const at = first + i * row_stride + 2 * k * column_stride;
        const uint32_t low = i < count ? at[0].bits : 0;
        const uint32_t high = i < count && 2 * k + 1 < columns ? at[column_stride].bits : 0;
        start[k * width + i] = {low | high << 16};
      }
  }
  // A last half panel that no row reached.
  if (rows % width > 0 && rows % width <= lanes) {
    Pair* const start = to + rows / width * width * depth + lanes;
    for (int64_t k = 0; k < depth; ++k) std::fill_n(start + k * width, lanes, Pair{0});
  }
}

}  // namespace fulgurite::FULGURITE_KERNELS
