#pragma once
#include <algorithm>
#include <utility>

#include "executors/eager/gemm_block.h"
#include "executors/eager/kernels/linalg/long_dot.h"
#include "executors/eager/kernels/linalg/tile.h"

// Products of a few rows with the rows of a matrix that is read once, as when tokens of several texts are computed
// together. The order of sums is the same for any number of rows: the bits of a row do not depend on it.
#if defined(__AVX512F__)
namespace fulgurite::kernels_avx512_bf16 {
/// Products of bf16, also of few columns.
void multiply_few_rows(const GemmBlock&);
}  // namespace fulgurite::kernels_avx512_bf16
#endif

namespace fulgurite::FULGURITE_KERNELS {

/// Rows of packed tiles as they are, multiplied with columns as they are read. Products that convert both hide these
/// members.
template <class Element>
struct UnconvertedTiles {
  using Packed = Element;
  static constexpr int parts_of_vector = 1;  // vectors that one is converted to, multiplied one after the other
  /// Packs `count` elements as a vector of `step`, padded with zeros.
  static void pack(const Element* from, int64_t count, int64_t step, Element* packed) {
    std::copy_n(from, count, packed);
    std::fill_n(packed + count, step - count, Element{});
  }
  template <class Vector>
  FULGURITE_INLINE Vector factor(const Vector& column, std::integral_constant<int, 0>) {
    return column;
  }
  /// The CPU's mode while the sums at an address are computed.
  struct Mode {
    explicit Mode(const Floats*) {}
  };
};

/// Vectors of f32 products; of 16-bit numbers, widened.
template <class Element>
struct WideProducts : UnconvertedTiles<Element> {
  using Vector = Floats;
  static constexpr int64_t step = lanes;           // elements of a vector
  static constexpr int64_t vectors_together = 64;  // along K: those of eight rows stay in the first cache
  FULGURITE_INLINE Floats load_all(const Element* from) { return load(from); }
  FULGURITE_INLINE Floats load_packed(const Element* from, std::integral_constant<int, 0>) { return load(from); }
  FULGURITE_INLINE Floats load_first(const Element* from, int64_t count) { return load_some(from, count); }
  FULGURITE_INLINE Floats add(const Floats& a, const Floats& b, const Floats& sum) { return multiply_add(a, b, sum); }
  /// Half of a group of codes, rounded to elements.
  template <class Group, int half>
  FULGURITE_INLINE Floats vector_of(const Group& group, std::integral_constant<int, half> which) {
    const Floats numbers = group.half(which);
    if constexpr (std::is_same_v<Element, BFloat16>) return from_bits(shift_left(bfloat16_bits(numbers), 16));
    else if constexpr (std::is_same_v<Element, Float16>) return from_float16_bits(float16_bits(numbers));
    else return numbers;
  }
};

/// The columns of B, each contiguous. Other kinds of columns (code_columns.h) have the same functions.
template <class Element>
struct PlainColumns {
  const Element* first;
  int64_t stride;

  /// Elements that are read together: a vector.
  template <class Products>
  static constexpr int64_t unit = Products::step;
  template <class Products>
  struct Unit {
    const Element* from;
    [[gnu::always_inline]] typename Products::Vector vector(std::integral_constant<int, 0>) const {
      return Products::load_all(from);
    }
  };
  template <class Products>
  [[gnu::always_inline]] Unit<Products> unit_at(int64_t column, int64_t i) const {
    return {first + column * stride + i};
  }
  template <class Products>
  [[gnu::always_inline]] typename Products::Vector load_first(int64_t column, int64_t i, int64_t count) const {
    return Products::load_first(first + column * stride + i, count);
  }
  [[gnu::always_inline]] void prefetch(int64_t column, int64_t i) const {
    __builtin_prefetch(first + column * stride + i, 0, 2);
  }
  PlainColumns along(int64_t begin) const { return {first + begin, stride}; }
  PlainColumns from_column(int64_t column) const { return {first + column * stride, stride}; }
  /// Prepares `count` columns to be read.
  PlainColumns block(int64_t column, int64_t) const { return from_column(column); }
};

/// Tiles of several rows read a packed copy, vector by vector: rows whose distance is a power of two would share one
/// set of the cache.
template <int rows>
inline constexpr bool is_packed = rows >= 4;

/// Rows of `a`, and columns of `b`, that are multiplied with each other along `count` contiguous elements.
template <class Element, class Columns = PlainColumns<Element>>
struct RowsToMultiply {
  const Element* a;
  int64_t a_stride;
  Columns b;
  int64_t count;
  bool prefetches = false;  // columns of tiles of one or two rows

  template <int rows>
  RowsToMultiply part(int64_t begin, int64_t part_count) const {
    return {a + begin * (is_packed<rows> ? rows : 1), a_stride, b.along(begin), part_count, prefetches};
  }
};

/// packed[vector][row]: all vectors of `rows` rows, padded with zeros.
template <class Products, int rows, class Element>
void pack_vectors(const Element* from, int64_t stride, int64_t count, typename Products::Packed* packed) {
  constexpr int64_t step = Products::step;
  for (int64_t i = 0; i < count; i += step)
    for (int r = 0; r < rows; ++r, packed += step)
      Products::pack(from + r * stride + i, std::min(step, count - i), step, packed);
}

/// Stops the compiler from loading a vector again for each of its uses: a tile has more products than loads fit beside.
template <class Vector>
FULGURITE_INLINE void keep_in_register([[maybe_unused]] Vector& x) {
#if defined(__AVX512F__)
  asm("" : "+v"(x.part[0]));
#endif
}

/// Sums of products by lane, for a tile of rows and columns; added to the previous ones if it `goes_on`. A tile of many
/// rows prefetches the columns after it, a line of each at a time; for fewer rows, which wait for memory alone, the
/// CPU's own prefetching may be faster.
template <class Products, class Element, class Columns, int... row, int... column>
[[gnu::always_inline]] inline void add_products(const RowsToMultiply<Element, Columns>& t, Floats* sums, bool goes_on,
                                                std::integer_sequence<int, row...>,
                                                std::integer_sequence<int, column...>) {
  using Vector = typename Products::Vector;
  using Unit = typename Columns::template Unit<Products>;
  using First = std::integral_constant<int, 0>;
  using Second = std::integral_constant<int, 1>;
  constexpr int64_t unit = Columns::template unit<Products>;
  constexpr int rows = sizeof...(row), columns = sizeof...(column);
  constexpr int64_t step = Products::step, advance = is_packed<rows> ? rows : 1;
  const int64_t row_distance = is_packed<rows> ? step : t.a_stride;
  Floats sum[rows][columns];
  const auto start = [&](int r) __attribute__((always_inline)) {
    ((sum[r][column] = goes_on ? sums[column * rows + r] : Floats(0.f)), ...);
  };
  (start(row), ...);
  const auto multiply = [&](const Vector(&vectors)[columns], const Element* from, const auto& load_row)
      __attribute__((always_inline)) {
    const auto multiply_part = [&](auto part) __attribute__((always_inline)) {
      const decltype(Products::factor(vectors[0], part)) factors[columns] = {
          Products::factor(vectors[column], part)...};
      const auto multiply_row = [&](int r) __attribute__((always_inline)) {
        auto x = load_row(from + r * row_distance, part);
        keep_in_register(x);
        ((sum[r][column] = Products::add(x, factors[column], sum[r][column])), ...);
      };
      (multiply_row(row), ...);
    };
    multiply_part(First());
    if constexpr (Products::parts_of_vector == 2) multiply_part(Second());
  };
  const auto load_whole = [](const Element* from, auto part) __attribute__((always_inline)) {
    if constexpr (is_packed<rows>) return Products::load_packed(from, part);
    else return Products::load_all(from);
  };
  int64_t i = 0;
  for (; i + unit <= t.count; i += unit) {
    if (is_packed<rows> || t.prefetches) (t.b.prefetch(columns + column, i), ...);
    const Unit units[columns] = {t.b.template unit_at<Products>(column, i)...};
    multiply({units[column].vector(First())...}, t.a + i * advance, load_whole);
    if constexpr (unit > step) multiply({units[column].vector(Second())...}, t.a + (i + step) * advance, load_whole);
  }
  if (i < t.count) {
    const int64_t some = t.count - i;
    const auto load_rest = [&](const Element* from, auto part) __attribute__((always_inline)) {
      if constexpr (is_packed<rows>) return Products::load_packed(from, part);
      else return Products::load_first(from, some);
    };
    multiply({t.b.template load_first<Products>(column, i, some)...}, t.a + i * advance, load_rest);
  }
  const auto finish = [&](int r) __attribute__((always_inline)) { ((sums[column * rows + r] = sum[r][column]), ...); };
  (finish(row), ...);
}

// One level of the sums of all lanes of 2 * distance vectors: lanes i and i + distance of each are added.
template <int distance, int... lane>
[[gnu::always_inline]] inline void add_halves(FloatPart* x, std::integer_sequence<int, lane...> lanes_of_part) {
  for (int i = 0; i < distance; ++i) {
    exchange<distance>(x[i], x[i + distance], lanes_of_part);
    x[i] = x[i] + x[i + distance];
  }
  if constexpr (distance > 1) add_halves<distance / 2>(x, lanes_of_part);
}
/// out[i] = sum_of_lanes(x[i * distance]) for i < count, at most part_lanes, with a third of its instructions.
inline void sums_of_lanes(const Floats* x, int64_t distance, int64_t count, float* out) {
  FloatPart sums[part_lanes];
  for (int64_t v = 0; v < part_lanes; ++v) {
    Floats sum = x[std::min(v, count - 1) * distance];
    for (int half = parts / 2; half > 0; half /= 2)
      for (int p = 0; p < half; ++p) sum.part[p] = sum.part[p] + sum.part[p + half];
    sums[v] = sum.part[0];
  }
  add_halves<part_lanes / 2>(sums, std::make_integer_sequence<int, part_lanes>());
  for (int64_t v = 0; v < count; ++v) out[v] = sums[0][v];
}

/// Columns whose sums are computed together.
inline constexpr int columns_together = 48;

/// dot_block() of one or two rows. The lanes are added after each tile: between the loads of two tiles, which wait for
/// memory, that takes no time.
template <class Products, int rows, int columns, class Element, class Columns>
void dot_tiles(RowsToMultiply<Element, Columns> t, int64_t column_count, float* out) {
  int64_t column = 0;
  const auto tiles = [&]<int count>(std::integral_constant<int, count>) {
    for (; column_count - column >= count; column += count, t.b = t.b.from_column(count)) {
      Floats sums[count * rows];
      add_products<Products>(t, sums, false, std::make_integer_sequence<int, rows>(),
                             std::make_integer_sequence<int, count>());
      for (int r = 0; r < rows; ++r) {
        float* const to = out + r * columns_together + column;
        if constexpr (2 * count >= part_lanes) sums_of_lanes(sums + r, rows, count, to);
        else
          for (int c = 0; c < count; ++c) to[c] = sum_of_lanes(sums[c * rows + r]);
      }
    }
  };
  tiles(std::integral_constant<int, columns>());
  tiles(std::integral_constant<int, 1>());
}

/// out[r][c] = dot product of row r of `a` and row c of `b`, at most columns_together of them, of at most 256 vectors.
template <class Products, int rows, int columns, class Element, class Columns>
void dot_block(const RowsToMultiply<Element, Columns>& t, int64_t column_count, float* out) {
  if constexpr (!is_packed<rows>) return dot_tiles<Products, rows, columns>(t, column_count, out);
  constexpr std::make_integer_sequence<int, rows> each_row;
  Floats sums[columns_together * rows];
  // Nearly equal parts of K.
  const int64_t vectors = std::max<int64_t>((t.count + Products::step - 1) / Products::step, 1);
  const int64_t part_count = (vectors + Products::vectors_together - 1) / Products::vectors_together;
  constexpr int64_t vectors_of_unit = Columns::template unit<Products> / Products::step;
  const int64_t most = ((vectors + part_count - 1) / part_count + vectors_of_unit - 1) / vectors_of_unit *
                       vectors_of_unit * Products::step;
  for (int64_t begin = 0; begin == 0 || begin < t.count; begin += most) {
    RowsToMultiply<Element, Columns> part = t.template part<rows>(begin, std::min(most, t.count - begin));
    const typename Products::Mode mode(sums);
    int64_t column = 0;
    const auto tiles = [&]<int count>(std::integral_constant<int, count>) {
      for (; column_count - column >= count; column += count, part.b = part.b.from_column(count))
        add_products<Products>(part, sums + column * rows, begin > 0, each_row,
                               std::make_integer_sequence<int, count>());
    };
    tiles(std::integral_constant<int, columns>());
    tiles(std::integral_constant<int, 1>());
  }
  for (int r = 0; r < rows; ++r)
    for (int64_t c = 0; c < column_count; c += part_lanes)
      sums_of_lanes(sums + c * rows + r, rows, std::min<int64_t>(part_lanes, column_count - c),
                    out + r * columns_together + c);
}

/// dot_block() of any length: sums of blocks are added pairwise, as in long_dot().
template <class Products, int rows, int columns, class Element, class Columns>
void dot_blocks(const RowsToMultiply<Element, Columns>& t, int64_t column_count, float* out) {
  constexpr int64_t block = 256 * Products::step;
  if (t.count <= block) return dot_block<Products, rows, columns>(t, column_count, out);
  const int64_t half = first_half(t.count, block);
  float others[columns_together * rows];
  dot_blocks<Products, rows, columns>(t.template part<rows>(0, half), column_count, out);
  dot_blocks<Products, rows, columns>(t.template part<rows>(half, t.count - half), column_count, others);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < column_count; ++c) out[r * columns_together + c] += others[r * columns_together + c];
}

/// Calls f with each of the tiles of `rows` rows: its first row, and its numbers of rows and columns as constants.
template <class F>
void for_each_row_tile(int64_t rows, const F& f) {
  int64_t row = 0;
  const auto tiles = [&]<int tile_rows, int tile_columns>(std::integral_constant<int, tile_rows> some_rows,
                                                          std::integral_constant<int, tile_columns> some_columns) {
    for (; rows - row >= tile_rows; row += tile_rows) f(row, some_rows, some_columns);
  };
  using std::integral_constant;
#if defined(__AVX512F__)
  tiles(integral_constant<int, 8>(), integral_constant<int, 3>());
  tiles(integral_constant<int, 4>(), integral_constant<int, 4>());
  tiles(integral_constant<int, 2>(), integral_constant<int, 8>());
  tiles(integral_constant<int, 1>(), integral_constant<int, 8>());
#else
  tiles(integral_constant<int, 2>(), integral_constant<int, 2>());
  tiles(integral_constant<int, 1>(), integral_constant<int, 4>());
#endif
}

/// Calls put(r, c, sums, count) for each run of elements of the product of `rows` rows with `columns` rows of a matrix.
/// A block of the matrix's rows is multiplied with all tiles of rows while it is in the cache. `PackedProducts` are
/// those of packed tiles, with the same bits.
template <class Products, class PackedProducts = Products, class Element, class Columns, class Put>
void multiply_few_rows(const RowsToMultiply<Element, Columns>& t, int64_t rows, int64_t columns, const Put& put) {
  const int64_t row_size = (t.count + Products::step - 1) / Products::step * Products::step;
  const Scratch<typename PackedProducts::Packed> packed(rows >= 4 ? rows * row_size : 0);
  for_each_row_tile(rows, [&]<int tile_rows>(int64_t row, std::integral_constant<int, tile_rows>, auto) {
    if constexpr (is_packed<tile_rows>)
      pack_vectors<PackedProducts, tile_rows>(t.a + row * t.a_stride, t.a_stride, t.count,
                                              packed.data() + row * row_size);
  });
  for (int64_t column = 0; column < columns; column += columns_together) {
    const int64_t some = std::min<int64_t>(columns_together, columns - column);
    const Columns block = t.b.block(column, some);
    for_each_row_tile(rows, [&]<int tile_rows, int tile_columns>(int64_t row, std::integral_constant<int, tile_rows>,
                                                                 std::integral_constant<int, tile_columns>) {
      float sums[columns_together * tile_rows];
      if constexpr (is_packed<tile_rows>) {
        const RowsToMultiply<typename PackedProducts::Packed, Columns> part{packed.data() + row * row_size, t.a_stride,
                                                                            block, t.count, t.prefetches};
        dot_blocks<PackedProducts, tile_rows, tile_columns>(part, some, sums);
      } else {
        const RowsToMultiply<Element, Columns> part{t.a + row * t.a_stride, t.a_stride, block, t.count, t.prefetches};
        dot_blocks<Products, tile_rows, tile_columns>(part, some, sums);
      }
      for (int r = 0; r < tile_rows; ++r) put(row + r, column, sums + r * columns_together, some);
    });
  }
}

}  // namespace fulgurite::FULGURITE_KERNELS
