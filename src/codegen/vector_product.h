// Products of matrices, added up in f32:
//
//   result[i][j] = finish(sum over k of left[i][k] * right[j][k])
//
// k is the depth; each operand is a matrix of rows along it, at any strides, so that transposes cost nothing more. Both are packed
// first: as the numbers that are multiplied, zero where they end, and laid out in the order in which they are multiplied. A step along the
// depth is four bytes of a row: a number of f32, or a pair of bf16 (codegen/vector_product_units.h).
//
//   left   strips of 16 rows: each row's steps of a slice of the depth side by side
//   right  panels of 16 or 48 rows: step after step, row beside row
//
// A slice of a panel stays in the first cache while all strips of a block of left rows are multiplied by it. Each number of the result
// is one sum, in the order of the depth, whatever the blocks are. A matrix unit takes the same strips and panels, in tiles of 16 rows.
#pragma once
#include "codegen/vector_memory.h"
#include "codegen/vector_launch.h"
#include "codegen/vector_product_units.h"
#include "codegen/vector_transpose.h"

namespace fulgurite::FULGURITE_KERNELS {

#if defined(__AVX2__)

// Whether neighbours in memory are of different rows; else they follow one another along the depth, if they lie side by side at all.
FULGURITE_INLINE bool lies_along_rows(const ProductOperand& operand) { return operand.row_stride == 1 && operand.depth_stride != 1; }

/// Sixteen rows by sixteen steps, row after row or, where they lie along rows, step after step.
template <class Unit, class Element>
FULGURITE_INLINE void load_square(Ints (&square)[16], const ProductOperand& operand, long row, long depth, long rows, long depths) {
  constexpr int square_depth = 16 * Unit::tiles.step_depth;
  const long row_stride = operand.row_stride, depth_stride = operand.depth_stride;
  const Element* const from = (const Element*)operand.data + row * row_stride + depth * depth_stride;
  const bool is_whole = rows >= 16 && depths >= square_depth;
  if (is_whole && depth_stride == 1) {
    for (int r = 0; r < 16; ++r) {
      __builtin_prefetch(from + r * row_stride + 8 * square_depth);
      square[r] = Unit::load_steps(from + r * row_stride);
    }
  } else if (is_whole && row_stride == 1) {
    for (int s = 0; s < 16; ++s) {
      const Element* const step = from + s * Unit::tiles.step_depth * depth_stride;
      for (int d = 0; d < Unit::tiles.step_depth; ++d) __builtin_prefetch(step + (square_depth + d) * depth_stride);
      square[s] = Unit::load_rows(step, depth_stride);
    }
  } else {  // the matrix ends here, or no neighbours lie side by side
    Element numbers[16][square_depth] = {};
    for (int r = 0; r < 16 && r < rows; ++r)
      for (int d = 0; d < square_depth && d < depths; ++d) numbers[r][d] = from[r * row_stride + d * depth_stride];
    for (int r = 0; r < 16; ++r) square[r] = Unit::load_steps(numbers[r]);
    if (lies_along_rows(operand)) transpose(square);
  }
}

/// Gives put(strip, step, square) all squares of some rows and depths, in an order in which each line of memory is read once.
template <class Unit, class Element, class Put>
FULGURITE_INLINE void for_each_square(const ProductOperand& operand, long row, long row_end, long depth, long depth_end, Put put) {
  constexpr int square_depth = 16 * Unit::tiles.step_depth;
  const long strips = (row_end - row + 15) / 16, squares = (depth_end - depth + square_depth - 1) / square_depth;
  const bool is_along_rows = lies_along_rows(operand);
  const long outer = is_along_rows ? squares : strips, inner = is_along_rows ? strips : squares;
  for (long o = 0; o < outer; ++o)
    for (long i = 0; i < inner; ++i) {
      const long strip = is_along_rows ? i : o, at = is_along_rows ? o : i, first = row + strip * 16, from = depth + at * square_depth;
      Ints square[16];
      load_square<Unit, Element>(square, operand, first, from, row_end - first, depth_end - from);
      put(strip, at * 16, square);
    }
}

/// Packs parts of the right operand from `first` to before `last`: a slice of the same rows each, slices outermost.
template <class Element, class Number>
FULGURITE_INLINE void pack_right(const ProductLaunch& launch, long first, long last) {
  using Unit = fulgurite::FULGURITE_KERNELS::Unit<Number>;
  constexpr long vectors = Unit::tiles.panel_rows / lanes, steps = Unit::tiles.slice_steps;
  const long parts_of_slice = (launch.right.rows + packed_rows - 1) / packed_rows;
  for (; first < last; ++first) {
    const long slice = first / parts_of_slice, row = first % parts_of_slice * packed_rows, depth = slice * launch.slice;
    const long end = launch.right.rows - row < packed_rows ? launch.right.rows : row + packed_rows;
    const long depth_end = launch.depth - depth < launch.slice ? launch.depth : depth + launch.slice;
    Ints* const packed = (Ints*)launch.right_panels + (row / Unit::tiles.panel_rows * launch.slices + slice) * steps * vectors;
    for_each_square<Unit, Element>(launch.right, row, end, depth, depth_end, [&](long strip, long step, Ints(&square)[16]) {
      if (!lies_along_rows(launch.right)) transpose(square);
      int* const to = (int*)(packed + (strip / vectors * launch.slices * steps + step) * vectors + strip % vectors);
      for (int s = 0; s < 16; ++s) store(to + s * vectors * lanes, square[s]);
    });
  }
}

/// Packs the left rows of a block, all strips of a slice one after another.
template <class Unit, class Element>
FULGURITE_INLINE void pack_left(const ProductLaunch& launch, long first_row, long last_row) {
  constexpr long steps = Unit::tiles.slice_steps;
  const long strips = (last_row - first_row + 15) / 16, slice = launch.slice / Unit::tiles.step_depth;
  for_each_square<Unit, Element>(launch.left, first_row, last_row, 0, launch.depth, [&](long strip, long step, Ints(&square)[16]) {
    if (lies_along_rows(launch.left)) transpose(square);
    int* const to = (int*)launch.left_strips + (step / slice * strips + strip) * 16 * steps + step % slice;
    for (int r = 0; r < 16; ++r) store(to + r * steps, square[r]);
  });
}

/// Sixteen neighbours in a row of the result, or what is left of it.
struct ResultPart {
  long row, column, count;
  /// The row in a matrix that is read or written here.
  template <class Element>
  __attribute__((always_inline)) Element* of(const ProductLaunch& launch, int matrix) const {
    return (Element*)(launch.matrices[matrix].data + row * launch.matrices[matrix].row_bytes);
  }
};
template <class Element>
FULGURITE_INLINE Floats load(const Element* row, const ResultPart& at) {
  return at.count >= lanes ? load(row + at.column) : load_some(row + at.column, at.count);
}
template <class Element>
FULGURITE_INLINE void store(Element* row, const ResultPart& at, const Floats& value) {
  if (at.count < lanes) store_some(row + at.column, value, at.count);
  else store(row + at.column, value);
}
#if defined(__AVX512BF16__)
FULGURITE_INLINE void store(BFloat16* row, const ResultPart& at, const Floats& value) {
  if (at.count < lanes) store_some(row + at.column, value, at.count);
  else *(HalfMemory*)(row + at.column) = rounded(value);
}
#endif

/// Sums of one left row with up to three registers of a panel's rows: names, not an array, so that they stay in registers.
template <class Unit, int registers>
struct RowSums {
  FloatPart a, b, c;
  __attribute__((always_inline)) explicit RowSums(const FloatPart* from) {
    a = from[0];
    if constexpr (registers > 1) b = from[1];
    if constexpr (registers > 2) c = from[2];
  }
  __attribute__((always_inline)) void add(int step, IntPart of_a, IntPart of_b, IntPart of_c) {
    const IntPart of_row = IntPart{} + step;
    Unit::add_products(a, of_row, of_a);
    if constexpr (registers > 1) Unit::add_products(b, of_row, of_b);
    if constexpr (registers > 2) Unit::add_products(c, of_row, of_c);
  }
  __attribute__((always_inline)) void store(FloatPart* to) const {
    to[0] = a;
    if constexpr (registers > 1) to[1] = b;
    if constexpr (registers > 2) to[2] = c;
  }
};

/// Adds a slice of a tile's left rows times some of a panel's rows to the sums, which are in memory before and after, unrounded.
template <class Unit, int registers>
FULGURITE_INLINE void multiply_tile(FloatPart* sums, const int* left, const IntPart* right, long steps) {
  constexpr int panel_parts = Unit::tiles.panel_rows / part_lanes;
#if defined(__AVX512F__)
#define FULGURITE_EACH_ROW(of) of(0) of(1) of(2) of(3) of(4) of(5) of(6) of(7)
#else
#define FULGURITE_EACH_ROW(of) of(0) of(1) of(2) of(3) of(4) of(5)
#endif
#define FULGURITE_ROW_BEGIN(r) RowSums<Unit, registers> row##r(sums + r * panel_parts);
#define FULGURITE_ROW_ADD(r) row##r.add(left[r * Unit::tiles.slice_steps], a, b, c);
#define FULGURITE_ROW_END(r) row##r.store(sums + r * panel_parts);
  FULGURITE_EACH_ROW(FULGURITE_ROW_BEGIN)
  for (const int* const end = left + steps; left < end; ++left, right += panel_parts) {
    const IntPart a = right[0], b = registers > 1 ? right[1] : a, c = registers > 2 ? right[2] : a;
    FULGURITE_EACH_ROW(FULGURITE_ROW_ADD)
  }
  FULGURITE_EACH_ROW(FULGURITE_ROW_END)
#undef FULGURITE_ROW_END
#undef FULGURITE_ROW_ADD
#undef FULGURITE_ROW_BEGIN
#undef FULGURITE_EACH_ROW
}
/// As many registers as the panel has rows for.
template <class Unit>
FULGURITE_INLINE void multiply_tile(FloatPart* sums, const int* left, const IntPart* right, long steps, long columns) {
  constexpr int panel_parts = Unit::tiles.panel_rows / part_lanes;
  if (panel_parts > 2 && columns > 2 * part_lanes) multiply_tile<Unit, 3>(sums, left, right, steps);
  else if (columns > part_lanes) multiply_tile<Unit, 2>(sums, left, right, steps);
  else multiply_tile<Unit, 1>(sums, left, right, steps);
}

/// Asks for the memory of a tile's results, so that it has come when they are written.
FULGURITE_INLINE void fetch_result(const ProductLaunch& launch, long row, long column, long rows, const ProductTiles& tiles) {
  const char* at = launch.matrices[0].data + row * launch.matrices[0].row_bytes + column * launch.result_bytes;
  for (int r = 0; r < tiles.tile_rows && r < rows; ++r, at += launch.matrices[0].row_bytes)
    for (long byte = 0; byte < tiles.panel_rows * launch.result_bytes; byte += 64) __builtin_prefetch(at + byte, 1);
}

/// Computes blocks of the result, numbered row by row of blocks, from `first` to before `last`: finish(sums, place) gets each sixteen
/// sums that are complete.
template <class Element, class Number, class Finish>
FULGURITE_INLINE void multiply_blocks(const ProductLaunch& launch, long first, long last, Finish finish) {
  using Unit = fulgurite::FULGURITE_KERNELS::Unit<Number>;
  constexpr ProductTiles tiles = Unit::tiles;
  constexpr int vectors = tiles.panel_rows / lanes;
  const long panels = (launch.right.rows + tiles.panel_rows - 1) / tiles.panel_rows;
  for (long packed_row = -1; first < last; ++first) {
    const long row = first / launch.column_blocks * launch.block_rows, first_panel = first % launch.column_blocks * launch.block_panels;
    const long last_row = launch.left.rows - row < launch.block_rows ? launch.left.rows : row + launch.block_rows;
    const long last_panel = panels - first_panel < launch.block_panels ? panels : first_panel + launch.block_panels;
    const long strips = (last_row - row + 15) / 16;
    if (row != packed_row) pack_left<Unit, Element>(launch, row, last_row);
    packed_row = row;
    const long tile_sums = launch.sums_are_kept || launch.slices > 1 ? tiles.tile_rows * vectors : 0;  // else each tile is done at once
    for (long slice = 0; slice < launch.slices; ++slice) {
      const long depth = launch.depth - slice * launch.slice;
      const long steps = ((depth < launch.slice ? depth : launch.slice) + Unit::tiles.step_depth - 1) / Unit::tiles.step_depth;
      const bool begins = slice == 0 && launch.begins, ends = slice + 1 == launch.slices && launch.ends;
      Floats* sums = (Floats*)(launch.sums + (launch.sums_are_kept ? first * launch.block_rows * launch.block_panels * tiles.panel_rows * 4 : 0));
      for (long panel = first_panel; panel < last_panel; ++panel) {
        const Ints* const right = (const Ints*)launch.right_panels + (panel * launch.slices + slice) * tiles.slice_steps * vectors;
        const int* left = (const int*)launch.left_strips + slice * strips * 16 * tiles.slice_steps;
        const long column = panel * tiles.panel_rows, columns = launch.right.rows - column;
        for (long r = row; r < last_row; r += tiles.tile_rows, left += tiles.tile_rows * tiles.slice_steps, sums += tile_sums) {
          if (ends) fetch_result(launch, r, column, last_row - r, tiles);
          for (int i = 0; begins && i < tiles.tile_rows * vectors; ++i) sums[i] = Floats(0.f);
          multiply_tile<Unit>((FloatPart*)sums, left, (const IntPart*)right, steps, columns);
          if (!ends) continue;
          for (int t = 0; t < tiles.tile_rows && r + t < last_row; ++t)
            for (int v = 0; v < vectors && v * lanes < columns; ++v)
              finish(sums[t * vectors + v], ResultPart{r + t, column + v * lanes, columns - v * lanes});
        }
      }
    }
  }
}

#endif

}  // namespace fulgurite::FULGURITE_KERNELS
