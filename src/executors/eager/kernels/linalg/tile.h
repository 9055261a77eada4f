#pragma once
#include <cstdint>
#include <utility>

#include "codegen/device_lib/memory.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

// The small GEMM of attention and of products without a library: a tile of C stays in registers while one row of B
// after the other is multiplied by scalars of A. Every element of C adds its products in order of k, so results do not
// depend on tile sizes.
namespace fulgurite::FULGURITE_KERNELS {

// Rows of C in registers at a time.
#if defined(__AVX512F__)
inline constexpr int tile_rows = 8;
#else
inline constexpr int tile_rows = 4;
#endif

// As wide as the instruction set's registers: the compiler would split wider vectors through memory.
template <class T>
struct Wide;
template <>
struct Wide<float> {
  typedef float type __attribute__((vector_size(part_bytes)));
  typedef float unaligned __attribute__((vector_size(part_bytes), aligned(4), may_alias));
};
template <>
struct Wide<double> {
  typedef double type __attribute__((vector_size(part_bytes)));
  typedef double unaligned __attribute__((vector_size(part_bytes), aligned(8), may_alias));
};
/// Adds products to a tile's sums; other factors than the sums' own type (pairs of bf16) define overloads of their own.
template <class T>
[[gnu::always_inline]] inline typename Wide<T>::type add_products(const typename Wide<T>::type& sum, T x,
                                                                  const typename Wide<T>::type& values) {
  return multiply_add(x - typename Wide<T>::type{}, values, sum);
}
template <class T>
inline constexpr int64_t wide_lanes = part_bytes / sizeof(T);
/// Columns of a packed panel of B: element (k, j) is at panel[j / panel_columns][k][j % panel_columns].
template <class T>
inline constexpr int64_t panel_columns = 2 * wide_lanes<T>;
template <class T>
constexpr int64_t padded(int64_t columns) {
  return (columns + wide_lanes<T> - 1) / wide_lanes<T> * wide_lanes<T>;
}
template <class T>
constexpr int64_t panel_padded(int64_t columns) {
  return (columns + panel_columns<T> - 1) / panel_columns<T> * panel_columns<T>;
}

template <class T>
[[gnu::always_inline]] inline typename Wide<T>::type load_wide(const T* p) {
  return *reinterpret_cast<const typename Wide<T>::unaligned*>(p);
}
template <class T>
[[gnu::always_inline]] inline void store_wide(T* p, const typename Wide<T>::type& v) {
  *reinterpret_cast<typename Wide<T>::unaligned*>(p) = v;
}

/// The index of A's element (row, k) is row * stride + k, or with `transposed` k * stride + row.
template <class T, bool transposed, class Factor, int... row, int... column>
[[gnu::always_inline]] inline void tile(const Factor* a, int64_t a_stride, const Factor* b, int64_t b_stride, T* c,
                                        int64_t c_stride, int64_t depth, bool accumulate,
                                        std::integer_sequence<int, row...>, std::integer_sequence<int, column...>) {
  using Vector = typename Wide<T>::type;
  constexpr int columns = sizeof...(column);
  constexpr int64_t lanes = wide_lanes<T>;
  Vector sum[sizeof...(row)][columns];
  // Advances row by row: the compiler has too few registers to hold all rows' addresses at once.
  const T* from = c;
  const auto start = [&](int r) __attribute__((always_inline)) {
    ((sum[r][column] = accumulate ? load_wide(from + column * lanes) : Vector{}), ...);
    from += c_stride;
  };
  (start(row), ...);
  for (int64_t k = 0; k < depth; ++k) {
    const typename Wide<Factor>::type values[columns] = {load_wide(b + column * lanes)...};
    b += b_stride;
    const auto step = [&](int r) __attribute__((always_inline)) {
      const Factor x = transposed ? a[r] : a[r * a_stride];
      ((sum[r][column] = add_products<T>(sum[r][column], x, values[column])), ...);
    };
    (step(row), ...);
    a += transposed ? a_stride : 1;
  }
  const auto finish = [&](int r) __attribute__((always_inline)) {
    ((store_wide(c + column * lanes, sum[r][column])), ...);
    c += c_stride;
  };
  (finish(row), ...);
}

/// `rows` (at most tile_rows) rows of C = A · B (+ C). C has `columns` rounded up to whole vectors; B is packed in
/// panels.
template <class T, bool transposed, int rows, class Factor>
inline void row_tile(int64_t columns, int64_t depth, const Factor* a, int64_t a_stride, const Factor* b,
                     int64_t b_stride, int64_t panel_stride, T* c, int64_t c_stride, bool accumulate) {
  constexpr std::make_integer_sequence<int, rows> each_row;
  for (int64_t j = 0; j < columns; j += panel_columns<T>, b += panel_stride) {
    if (columns - j > wide_lanes<T>)
      tile<T, transposed>(a, a_stride, b, b_stride, c + j, c_stride, depth, accumulate, each_row,
                          std::make_integer_sequence<int, 2>());
    else
      tile<T, transposed>(a, a_stride, b, b_stride, c + j, c_stride, depth, accumulate, each_row,
                          std::make_integer_sequence<int, 1>());
  }
}

template <class T>
struct PanelOperand {
  const T* data;
  int64_t stride;        // between the rows of a panel
  int64_t panel_stride;  // between panels
};

template <class T, bool transposed, class Factor>
inline void multiply_rows(int64_t rows, int64_t columns, int64_t depth, const Factor* a, int64_t a_stride,
                          const PanelOperand<Factor>& b, T* c, int64_t c_stride, bool accumulate) {
  for (; rows >= tile_rows; rows -= tile_rows) {
    row_tile<T, transposed, tile_rows>(columns, depth, a, a_stride, b.data, b.stride, b.panel_stride, c, c_stride,
                                       accumulate);
    a += transposed ? tile_rows : tile_rows * a_stride;
    c += tile_rows * c_stride;
  }
  const auto last = [&]<int count>(std::integral_constant<int, count>) {
    row_tile<T, transposed, count>(columns, depth, a, a_stride, b.data, b.stride, b.panel_stride, c, c_stride,
                                   accumulate);
  };
  switch (rows) {
    case 1: return last(std::integral_constant<int, 1>());
    case 2: return last(std::integral_constant<int, 2>());
    case 3: return last(std::integral_constant<int, 3>());
#if defined(__AVX512F__)
    case 4: return last(std::integral_constant<int, 4>());
    case 5: return last(std::integral_constant<int, 5>());
    case 6: return last(std::integral_constant<int, 6>());
    case 7: return last(std::integral_constant<int, 7>());
#endif
    default: return;
  }
}

// One step of a transposition: swaps the parts of two rows that are `distance` lanes off the diagonal.
template <int distance, class Vector, int... lane>
[[gnu::always_inline]] inline void exchange(Vector& a, Vector& b, std::integer_sequence<int, lane...>) {
  constexpr int lanes = sizeof...(lane);
  const Vector low = __builtin_shufflevector(a, b, ((lane & distance) == 0 ? lane : lanes + lane - distance)...);
  const Vector high = __builtin_shufflevector(a, b, ((lane & distance) == 0 ? lane + distance : lanes + lane)...);
  a = low;
  b = high;
}
template <int distance, class Vector, int... lane>
[[gnu::always_inline]] inline void exchange_rows(Vector* rows, std::integer_sequence<int, lane...> lanes) {
  (((lane & distance) == 0 ? exchange<distance>(rows[lane], rows[lane | distance], lanes) : void()), ...);
  if constexpr (distance > 1) exchange_rows<distance / 2>(rows, lanes);
}
/// out[j * out_stride + i] = in[i * in_stride + j] for i, j < wide_lanes.
template <class T>
inline void transpose_square(const T* in, int64_t in_stride, T* out, int64_t out_stride) {
  constexpr int lanes = wide_lanes<T>;
  typename Wide<T>::type rows[lanes];
  for (int i = 0; i < lanes; ++i) rows[i] = load_wide(in + i * in_stride);
  exchange_rows<lanes / 2>(rows, std::make_integer_sequence<int, lanes>());
  for (int j = 0; j < lanes; ++j) store_wide(out + j * out_stride, rows[j]);
}

}  // namespace fulgurite::FULGURITE_KERNELS
