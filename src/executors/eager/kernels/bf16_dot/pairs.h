#pragma once
#if defined(__AVX512BF16__)
#include <immintrin.h>
#endif

#include "codegen/device_lib/transpose.h"
#include "executors/eager/kernels/bf16_dot/pair_products.h"
#include "executors/eager/kernels/nn/attention.h"

// Packs bf16 matrices into pairs along the summed dimension, for the pair GEMMs, and converts their results back to
// bf16.
namespace fulgurite::FULGURITE_KERNELS {

// Intrinsics if the CPU has the instructions; else plain lanes.
#if defined(__AVX512BF16__)

FULGURITE_INLINE Floats floats_of(__m512 x) {
  Floats result;
  result.part[0] = (FloatPart)x;
  return result;
}
FULGURITE_INLINE Floats nearest_integer(const Floats& x) {
  return floats_of(_mm512_roundscale_ps((__m512)x.part[0], 0));
}
/// x * 2^n for an integer n.
FULGURITE_INLINE Floats scale_by_power(const Floats& x, const Floats& n) {
  return floats_of(_mm512_scalef_ps((__m512)x.part[0], (__m512)n.part[0]));
}
/// The first `count` lanes of x, which may be none or more than there are; zeros in the others.
FULGURITE_INLINE Floats keep_first(int64_t count, const Floats& x) {
  const auto mask =
      static_cast<__mmask16>(_bzhi_u32(0xffff, static_cast<unsigned>(std::clamp<int64_t>(count, 0, lanes))));
  return floats_of(_mm512_maskz_mov_ps(mask, (__m512)x.part[0]));
}
FULGURITE_INLINE void store_narrow(BFloat16* to, const Floats& x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), (__m256i)_mm512_cvtneps_pbh((__m512)x.part[0]));
}

/// Sixteen numbers of each of two rows as bf16, the first row in the lower half.
using NarrowRows = __m512i;
FULGURITE_INLINE NarrowRows narrow_rows(const Floats& first, const Floats& second) {
  return (__m512i)_mm512_cvtne2ps_pbh((__m512)second.part[0], (__m512)first.part[0]);
}
/// Stores them as sixteen pairs down the rows.
FULGURITE_INLINE void store_pairs(Pair* to, const NarrowRows& rows) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21,
                                         5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  _mm512_storeu_si512(to, _mm512_permutexvar_epi16(order, rows));
}
/// Stores thirty-two neighbours of each of two rows as pairs down the rows.
FULGURITE_INLINE void store_interleaved(Pair* to, const BFloat16* first, const BFloat16* second) {
  const __m512i order = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39, 7, 38, 6, 37,
                                         5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
  const __m512i upper = _mm512_loadu_si512(first), lower = _mm512_loadu_si512(second);
  _mm512_storeu_si512(to, _mm512_permutex2var_epi16(upper, order, lower));
  _mm512_storeu_si512(to + lanes,
                      _mm512_permutex2var_epi16(upper, _mm512_add_epi16(order, _mm512_set1_epi16(16)), lower));
}
FULGURITE_INLINE void store_rows(BFloat16* first, BFloat16* second, const NarrowRows& rows) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(first), _mm512_castsi512_si256(rows));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(second), _mm512_extracti64x4_epi64(rows, 1));
}

#else

FULGURITE_INLINE Floats nearest_integer(const Floats& x) { return integer_of(with_integer_bits(x)); }
FULGURITE_INLINE Floats scale_by_power(const Floats& x, const Floats& n) { return scale(x, with_integer_bits(n), n); }
FULGURITE_INLINE Floats keep_first(int64_t count, const Floats& x) { return first_lanes(x, count, 0.f); }
FULGURITE_INLINE void store_narrow(BFloat16* to, const Floats& x) { store(to, x); }

struct NarrowRows {
  Ints first, second;
};
FULGURITE_INLINE NarrowRows narrow_rows(const Floats& first, const Floats& second) {
  return {bfloat16_bits(first), bfloat16_bits(second)};
}
FULGURITE_INLINE void store_pairs(Pair* to, const NarrowRows& rows) {
  store(to, rows.first | shift_left(rows.second, 16));
}
FULGURITE_INLINE void store_rows(BFloat16* first, BFloat16* second, const NarrowRows& rows) {
  store_halves(&first->bits, rows.first);
  store_halves(&second->bits, rows.second);
}

#endif

/// 2^x for x <= 128, within a relative error of 1.5e-7; NaN for NaN.
FULGURITE_INLINE Floats exp2_of_small(const Floats& argument) {
  const Floats x = select(argument < Floats(-150.f), Floats(zero_power), argument);
  const Floats whole = nearest_integer(x), r = x - whole;
  Floats p = multiply_add(Floats(0.00132647271f), r, Floats(0.00967151265f));
  p = multiply_add(p, r, Floats(0.0555073374f));
  p = multiply_add(p, r, Floats(0.240222421f));
  p = multiply_add(p, r, Floats(0.693146978f));
  p = multiply_add(p, r, Floats(1.f));
  return scale_by_power(p, whole);
}

/// Rows of pairs for a GEMM's left factors: in place if neighbours are adjacent and no more are read than there are.
/// `scratch` has up_to(rows, row_unit) * depth_of(columns) elements.
struct PairRows {
  const Pair* data;
  int64_t stride;

  PairRows(const BFloat16* from, int64_t row_stride, int64_t column_stride, int64_t rows, int64_t columns,
           Pair* scratch) {
    if (column_stride == 1 && columns % (2 * depth_unit) == 0 && row_stride % 2 == 0 && rows % row_unit == 0) {
      data = reinterpret_cast<const Pair*>(from);
      stride = row_stride / 2;
      return;
    }
    const int64_t width = depth_of(columns);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < width; ++j) {
        const BFloat16* const at = from + r * row_stride + 2 * j * column_stride;
        const uint32_t first = 2 * j < columns ? at[0].bits : 0,
                       second = 2 * j + 1 < columns ? at[column_stride].bits : 0;
        scratch[r * width + j] = {first | second << 16};
      }
    data = scratch;
    stride = width;
  }
};

/// Packs pairs down the rows of a matrix into panels, padded with zero rows and columns. `to` has up_to(columns, panel)
/// * depth_of(rows) elements.
inline void pack_pairs(const BFloat16* from, int64_t row_stride, int64_t column_stride, int64_t rows, int64_t columns,
                       Pair* to) {
  for (int64_t first_column = 0; first_column < columns; first_column += panel) {
    const int64_t count = std::min(panel, columns - first_column);
    Pair* const end = to + depth_of(rows) * panel;
    for (int64_t k = 0; k < rows; k += 2, to += panel) {
      const BFloat16* const first = from + k * row_stride + first_column * column_stride;
      const bool has_second = k + 1 < rows;
      const BFloat16* const second = has_second ? first + row_stride : first;
      int64_t j = 0;
#if defined(__AVX512BF16__)
      if (column_stride == 1 && has_second)
        for (; j + 2 * lanes <= count; j += 2 * lanes) store_interleaved(to + j, first + j, second + j);
#endif
      if (column_stride == 1)
        for (; j + lanes <= count; j += lanes) {
          const Ints low = load_halves(&first[j].bits), high = load_halves(&second[j].bits);
          store(to + j, has_second ? low | shift_left(high, 16) : low);
        }
      for (; j < count; ++j) {
        const uint32_t high = has_second ? second[j * column_stride].bits : 0;
        to[j] = {first[j * column_stride].bits | high << 16};
      }
      for (; j < panel; ++j) to[j] = {0};
    }
    std::fill(to, end, Pair{0});
    to = end;
  }
}

/// Packs pairs along the rows of a matrix, transposed, into panels of its rows. `to` has up_to(rows, panel) *
/// depth_of(columns) elements.
inline void pack_turned_pairs(const BFloat16* from, int64_t row_stride, int64_t column_stride, int64_t rows,
                              int64_t columns, Pair* to) {
  const int64_t depth = depth_of(columns);
  for (int64_t first_row = 0; first_row < up_to(rows, panel); first_row += lanes) {
    Pair* const start = to + first_row / panel * panel * depth + first_row % panel;
    const int64_t count = std::clamp<int64_t>(rows - first_row, 0, lanes);
    const BFloat16* const first = from + first_row * row_stride;
    int64_t k = 0;
    if (column_stride == 1 && count == lanes)
      for (; k + lanes <= columns / 2; k += lanes) {
        Ints square[lanes];
        for (int i = 0; i < lanes; ++i) square[i] = load(reinterpret_cast<const Pair*>(first + i * row_stride) + k);
        transpose(square);
        for (int j = 0; j < lanes; ++j) store(start + (k + j) * panel, square[j]);
      }
    for (; k < depth; ++k)
      for (int64_t i = 0; i < lanes; ++i) {
        const BFloat16* const at = first + i * row_stride + 2 * k * column_stride;
        const uint32_t low = i < count && 2 * k < columns ? at[0].bits : 0;
        const uint32_t high = i < count && 2 * k + 1 < columns ? at[column_stride].bits : 0;
        start[k * panel + i] = {low | high << 16};
      }
  }
}

/// Transposes pairs down the rows of a matrix: a row of them for each of its columns, `stride` apart, zeros up to
/// depth_of(rows). `to` has up_to(columns, lanes) such rows.
inline void turn_pairs(const BFloat16* from, int64_t row_stride, int64_t column_stride, int64_t rows, int64_t columns,
                       Pair* to, int64_t stride) {
  for (int64_t pair = 0; pair < depth_of(rows); pair += lanes)
    for (int64_t j = 0; j < columns; j += lanes) {
      const BFloat16* const first = from + 2 * pair * row_stride + j * column_stride;
      const bool is_whole = column_stride == 1 && 2 * (pair + lanes) <= rows && j + lanes <= columns;
      Ints square[lanes];
      for (int64_t i = 0; i < lanes; ++i) {
        const BFloat16* const at = first + 2 * i * row_stride;
        if (is_whole) {
          square[i] = load_halves(&at[0].bits) | shift_left(load_halves(&at[row_stride].bits), 16);
          continue;
        }
        Pair pairs[lanes];
        for (int64_t e = 0; e < lanes; ++e) {
          const bool is_there = j + e < columns;
          const uint32_t low = is_there && 2 * (pair + i) < rows ? at[e * column_stride].bits : 0;
          const uint32_t high = is_there && 2 * (pair + i) + 1 < rows ? at[row_stride + e * column_stride].bits : 0;
          pairs[e] = {low | high << 16};
        }
        square[i] = load(pairs);
      }
      transpose(square);
      for (int i = 0; i < lanes; ++i) store(to + (j + i) * stride + pair, square[i]);
    }
}

/// Writes columns of sums as rows of bf16: to[r][c] = from[c * stride + r]. `from` has multiples of sixteen rows and
/// columns.
inline void write_turned(const ResultRows<BFloat16>& to, const float* from, int64_t stride, int64_t rows,
                         int64_t columns) {
  for (int64_t r = 0; r < rows; r += lanes)
    for (int64_t c = 0; c < columns; c += lanes) {
      Ints square[lanes];
      for (int64_t i = 0; i < lanes; ++i) square[i] = bits_of(load(from + (c + i) * stride + r));
      transpose(square);
      const int64_t count = columns - c;
      for (int64_t i = 0; i < lanes && r + i < rows; ++i) {
        BFloat16* const at = to.first + (r + i) * to.stride + c;
        if (count >= lanes) store_narrow(at, from_bits(square[i]));
        else store_some(at, from_bits(square[i]), count);
      }
    }
}

}  // namespace fulgurite::FULGURITE_KERNELS
