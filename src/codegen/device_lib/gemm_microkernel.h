// GEMM, accumulated in f32:
//
//   result[i][j] = finish(sum over k of left[i][k] * right[j][k])
//
// Each operand is a matrix of rows along K, at any strides, so that transposes cost nothing extra. Both are packed
// first: converted to the dtype that is multiplied, padded with zeros, and stored in the order in which they are
// multiplied. A step along K is four bytes of a row: one f32, or a pair of bf16 (codegen/device_lib/gemm_units.h).
//
//   left   micro-panels of 16 rows: each row's steps of a K block side by side
//   right  panels of 16, 32 or 48 rows: step after step, row beside row
//
// A K block of a panel stays in the L1 cache while all micro-panels of a block of left rows are multiplied by it. Each
// element of the result is one sum in the order of K, whatever the blocks are. AMX tiles (codegen/device_lib/amx.h) use
// the same micro-panels, and panels of 32 rows.
#pragma once
#include "codegen/device_lib/memory.h"
#include "codegen/device_lib/launch.h"
#include "codegen/device_lib/amx.h"
#include "codegen/device_lib/gemm_units.h"
#include "codegen/device_lib/gemm_register_tiles.h"
#include "codegen/device_lib/rows.h"
#include "codegen/device_lib/transpose.h"

namespace fulgurite::FULGURITE_KERNELS {

#if defined(__AVX2__)

// True if neighbours in memory are of different rows; else they follow one another along K, if they are adjacent at
// all.
FULGURITE_INLINE bool lies_along_rows(const GemmOperand& operand) {
  return operand.row_stride == 1 && operand.depth_stride != 1;
}

/// Loads sixteen rows by sixteen steps, row after row or, if neighbours are of different rows, step after step.
/// Prefetches the square at `ahead`.
template <class Unit, class Element>
FULGURITE_INLINE void load_square(Ints (&square)[16], const GemmOperand& operand, long row, long depth, long rows,
                                  long depths, const Element* ahead) {
  constexpr int square_depth = 16 * Unit::tiles.step_depth;
  const long row_stride = operand.row_stride, depth_stride = operand.depth_stride;
  const Element* const from = (const Element*)operand.data + row * row_stride + depth * depth_stride;
  const bool is_whole = rows >= 16 && depths >= square_depth;
  if (is_whole && depth_stride == 1) {
    for (int r = 0; r < 16; ++r) {
      for (long byte = 0; byte < square_depth * (long)sizeof(Element); byte += 64)
        __builtin_prefetch((const char*)(ahead + r * row_stride) + byte);
      square[r] = Unit::load_steps(from + r * row_stride);
    }
  } else if (is_whole && row_stride == 1) {
    for (int s = 0; s < 16; ++s) {
      const Element* const step = from + s * Unit::tiles.step_depth * depth_stride;
      for (int d = 0; d < Unit::tiles.step_depth; ++d) __builtin_prefetch(step + (square_depth + d) * depth_stride);
      square[s] = Unit::load_rows(step, depth_stride);
    }
  } else {  // the matrix ends here, or no neighbours are adjacent
    Element numbers[16][square_depth] = {};
    for (int r = 0; r < 16 && r < rows; ++r)
      for (int d = 0; d < square_depth && d < depths; ++d) numbers[r][d] = from[r * row_stride + d * depth_stride];
    for (int r = 0; r < 16; ++r) square[r] = Unit::load_steps(numbers[r]);
    if (lies_along_rows(operand)) transpose(square);
  }
}

/// Calls put(strip, step, square) for all squares of some rows and some of K, in an order that reads each cache line
/// once.
template <class Unit, class Element, class Put>
FULGURITE_INLINE void for_each_square(const GemmOperand& operand, long row, long row_end, long depth, long depth_end,
                                      Put put) {
  constexpr int square_depth = 16 * Unit::tiles.step_depth;
  const long strips = (row_end - row + 15) / 16, squares = (depth_end - depth + square_depth - 1) / square_depth;
  const bool is_along_rows = lies_along_rows(operand);
  const long outer = is_along_rows ? squares : strips, inner = is_along_rows ? strips : squares;
  for (long o = 0; o < outer; ++o)
    for (long i = 0; i < inner; ++i) {
      const long strip = is_along_rows ? i : o, at = is_along_rows ? o : i, first = row + strip * 16,
                 from = depth + at * square_depth;
      // The square eight further along the rows; past their end, in the rows below.
      const bool is_below = at + 8 >= squares;
      const long ahead = is_below ? first + 16 : first,
                 ahead_depth = depth + (is_below ? at + 8 - squares : at + 8) * square_depth;
      Ints square[16];
      load_square<Unit, Element>(
          square, operand, first, from, row_end - first, depth_end - from,
          (const Element*)operand.data + ahead * operand.row_stride + ahead_depth * operand.depth_stride);
      put(strip, at * 16, square);
    }
}

/// Packs parts of the right operand from `first` to before `last`: one K block of some rows each, K blocks outermost.
template <class Element, class Number>
FULGURITE_INLINE void pack_right(const GemmLaunch& launch, long first, long last) {
  using Unit = fulgurite::FULGURITE_KERNELS::Unit<Number>;
  constexpr long vectors = Unit::tiles.panel_rows / lanes, steps = Unit::tiles.slice_steps;
  const long parts_of_slice = (launch.right.rows + packed_rows - 1) / packed_rows;
  for (; first < last; ++first) {
    const long slice = first / parts_of_slice, row = first % parts_of_slice * packed_rows, depth = slice * launch.slice;
    const long end = launch.right.rows - row < packed_rows ? launch.right.rows : row + packed_rows;
    const long depth_end = launch.depth - depth < launch.slice ? launch.depth : depth + launch.slice;
    Ints* const packed =
        (Ints*)launch.right_panels + (row / Unit::tiles.panel_rows * launch.slices + slice) * steps * vectors;
    for_each_square<Unit, Element>(
        launch.right, row, end, depth, depth_end, [&](long strip, long step, Ints(&square)[16]) {
          if (!lies_along_rows(launch.right)) transpose(square);
          int* const to = (int*)(packed + (strip / vectors * launch.slices * steps + step) * vectors + strip % vectors);
          for (int s = 0; s < 16; ++s) store(to + s * vectors * lanes, square[s]);
        });
  }
}

/// Packs the left rows of a block, all micro-panels of a K block one after another.
template <class Unit, class Element>
FULGURITE_INLINE void pack_left(const GemmLaunch& launch, long first_row, long last_row) {
  constexpr long steps = Unit::tiles.slice_steps;
  const long strips = (last_row - first_row + 15) / 16, slice = launch.slice / Unit::tiles.step_depth;
  for_each_square<Unit, Element>(
      launch.left, first_row, last_row, 0, launch.depth, [&](long strip, long step, Ints(&square)[16]) {
        if (lies_along_rows(launch.left)) transpose(square);
        int* const to = (int*)launch.left_strips + (step / slice * strips + strip) * 16 * steps + step % slice;
        for (int r = 0; r < 16; ++r) store(to + r * steps, square[r]);
      });
}

/// Sixteen neighbours in a row of the result, or the rest of it.
struct ResultPart {
  long row, column, count;
  /// Row `row` of another matrix of the kernel.
  template <class Element>
  __attribute__((always_inline)) Element* of(const GemmLaunch& launch, int matrix) const {
    return (Element*)(launch.matrices[matrix].data + row * launch.matrices[matrix].row_bytes);
  }
};
template <class Element>
FULGURITE_INLINE Floats load(const Element* row, const ResultPart& at) {
  return at.count >= lanes ? load(row + at.column) : load_some(row + at.column, at.count);
}
FULGURITE_INLINE Ints load(const Boolean* row, const ResultPart& at) {
  unsigned char bytes[lanes] = {};
  if (at.count < lanes) __builtin_memcpy(bytes, row + at.column, at.count);
  return load_bytes(at.count < lanes ? bytes : &row[at.column].byte) != Ints(0);
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

/// The sums of a tile, and the part of the result that they are: `rows` and `columns` from (row, column) on.
struct SumTile {
  Floats* sums;
  long row, column, rows, columns;
};
/// Calls finish(sums, at) for each sixteen sums of some of the tile's rows.
template <class Unit, class Finish>
FULGURITE_INLINE void finish_rows(const SumTile& tile, long first, long last, Finish finish) {
  constexpr int vectors = Unit::tiles.panel_rows / lanes;
  const bool is_whole = tile.columns >= Unit::tiles.panel_rows;
  for (long r = first; r < last && r < tile.rows; ++r) {
    const Floats* const sums = tile.sums + r * vectors;
    if (is_whole)
      for (int v = 0; v < vectors; ++v) finish(sums[v], ResultPart{tile.row + r, tile.column + v * lanes, lanes});
    else
      for (int v = 0; v * lanes < tile.columns; ++v)
        finish(sums[v], ResultPart{tile.row + r, tile.column + v * lanes, tile.columns - v * lanes});
  }
}

/// Prefetches the memory that a tile's epilogue reads and writes.
template <class Unit>
FULGURITE_INLINE void fetch_matrices(const GemmLaunch& launch, const SumTile& tile) {
  for (int m = 0; m < launch.matrix_count; ++m) {
    const GemmMatrix& matrix = launch.matrices[m];
    // An AMX panel is a whole cache line of a two-byte result, of which nothing old is read.
    if (matrix.row_bytes == 0 || (Unit::is_amx && m < launch.results && matrix.element_bytes == 2)) continue;
    const char* at = matrix.data + tile.row * matrix.row_bytes + tile.column * matrix.element_bytes;
    for (int r = 0; r < tile.rows; ++r, at += matrix.row_bytes)
      for (long byte = 0; byte < Unit::tiles.panel_rows * matrix.element_bytes; byte += 64) {
        if (m < launch.results) __builtin_prefetch(at + byte, 1);
        else __builtin_prefetch(at + byte);
      }
  }
}

/// Computes blocks of the result, numbered row by row of blocks, from `first` to before `last`: calls finish(sums,
/// place) for each sixteen complete sums.
template <class Element, class Number, class Finish>
FULGURITE_INLINE void multiply_blocks(const GemmLaunch& launch, long first, long last, Finish finish) {
  using Unit = fulgurite::FULGURITE_KERNELS::Unit<Number>;
  constexpr GemmTiles tiles = Unit::tiles;
  constexpr int vectors = tiles.panel_rows / lanes, tile_vectors = tiles.tile_rows * vectors;
  [[maybe_unused]] const typename Unit::Registers registers;
  const long panels = (launch.right.rows + tiles.panel_rows - 1) / tiles.panel_rows;
  for (long packed_row = -1; first < last; ++first) {
    const long row = first / launch.column_blocks * launch.block_rows,
               first_panel = first % launch.column_blocks * launch.block_panels;
    const long last_row = launch.left.rows - row < launch.block_rows ? launch.left.rows : row + launch.block_rows;
    const long last_panel = panels - first_panel < launch.block_panels ? panels : first_panel + launch.block_panels;
    const long strips = (last_row - row + 15) / 16;
    if (row != packed_row) pack_left<Unit, Element>(launch, row, last_row);
    packed_row = row;
    const bool is_done_at_once = !launch.sums_are_kept && launch.slices == 1;
    for (long slice = 0; slice < launch.slices; ++slice) {
      const long depth = launch.depth - slice * launch.slice;
      const long steps =
          ((depth < launch.slice ? depth : launch.slice) + Unit::tiles.step_depth - 1) / Unit::tiles.step_depth;
      const bool begins = slice == 0 && launch.begins, ends = slice + 1 == launch.slices && launch.ends;
      const long kept_sums =
          launch.sums_are_kept ? first * launch.block_rows * launch.block_panels * tiles.panel_rows : 0;
      Floats *const first_sums = (Floats*)(launch.sums + kept_sums * 4), *sums = first_sums;
      SumTile unfinished{};  // until AMX has the next tile to multiply
      // A panel stays in the L1 cache for all tiles below one another. AMX tiles are finished so fast that stores are
      // the bottleneck, and they are fastest row by row: there a micro-panel stays for all tiles beside one another.
      constexpr bool is_by_rows = Unit::is_amx;
      const long tiles_below = (last_row - row + tiles.tile_rows - 1) / tiles.tile_rows,
                 tiles_beside = last_panel - first_panel;
      const long outer = is_by_rows ? tiles_below : tiles_beside, inner = is_by_rows ? tiles_beside : tiles_below;
      for (long o = 0; o < outer; ++o)
        for (long i = 0; i < inner; ++i) {
          const long below = is_by_rows ? o : i, panel = first_panel + (is_by_rows ? i : o);
          const int* const right = (const int*)((const Ints*)launch.right_panels +
                                                (panel * launch.slices + slice) * tiles.slice_steps * vectors);
          const int* const left =
              (const int*)launch.left_strips + (slice * strips * 16 + below * tiles.tile_rows) * tiles.slice_steps;
          const long r = row + below * tiles.tile_rows, column = panel * tiles.panel_rows,
                     columns = launch.right.rows - column;
          const SumTile tile{sums, r, column, last_row - r < tiles.tile_rows ? last_row - r : tiles.tile_rows, columns};
          if (ends) fetch_matrices<Unit>(launch, tile);
          if constexpr (Unit::is_amx) {
            const long times = (steps + 15) / 16 + 1, rows_a_time = (tiles.tile_rows + times - 1) / times;
            const TwoTiles left_tiles{left, left + 16 * tiles.slice_steps, tiles.slice_steps * 4, 16};
            const TwoTiles right_tiles{right, right + 16, tiles.panel_rows * 4, 16 * tiles.panel_rows};
            multiply_tiles((float*)sums, tiles.panel_rows, left_tiles, right_tiles, steps, begins, tile.rows > 16,
                           columns > 16, [&](long time) {
                             finish_rows<Unit>(unfinished, time * rows_a_time, (time + 1) * rows_a_time, finish);
                           });
            if (ends) unfinished = tile;
          } else {
            // The lines of the panel to be multiplied next, a part of them for each of the first tiles.
            constexpr long panel_lines = tiles.slice_steps * vectors;
            const char* ahead = (const char*)right;
            if (below < vectors) {
              if (panel + 1 < last_panel) ahead += launch.slices * panel_lines * 64;
              else if (slice + 1 < launch.slices)
                ahead = launch.right_panels + (first_panel * launch.slices + slice + 1) * panel_lines * 64;
              ahead += below * tiles.slice_steps * 64;
            }
            multiply_tile<Unit>((FloatPart*)sums, left, (const IntPart*)right, steps, columns, begins, ahead);
            if (ends) finish_rows<Unit>(tile, 0, tiles.tile_rows, finish);
          }
          if (!is_done_at_once) sums += tile_vectors;
          else if (Unit::is_amx) sums = sums == first_sums ? sums + tile_vectors : first_sums;
        }
      if constexpr (Unit::is_amx) finish_rows<Unit>(unfinished, 0, tiles.tile_rows, finish);
    }
  }
}

#endif

}  // namespace fulgurite::FULGURITE_KERNELS
