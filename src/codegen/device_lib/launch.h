// What generated kernels are called with.
#pragma once

#ifndef FULGURITE_KERNELS
#define FULGURITE_KERNELS kernels
#endif

namespace fulgurite::FULGURITE_KERNELS {

inline constexpr int most_row_dimensions = 8;

/// Where a kernel finds a tensor: its first element, and how many bytes lie between neighbours along each of the rows' dimensions.
struct Operand {
  char* data;
  long strides[most_row_dimensions];
  bool is_streamed = false;  // a result that is stored past the caches
};
struct Launch {
  long columns;         // elements of a row
  int row_dimensions;   // the rows are numbered through these, the last one fastest
  long row_sizes[most_row_dimensions];
  const Operand* operands;
  const double* numbers;
  char* kept;           // memory for rows that the kernel keeps for itself
  long kept_stride;     // bytes of one, and of a row of sums of columns
  long ahead = 1024;    // so many bytes before they are read elements are asked for
};
inline constexpr long summed_rows = 8;  // that a column's sum adds up before it is joined with others
/// Computes the rows from `first` to before `last`.
using KernelFunction = void (*)(const Launch&, long first, long last);

/// How products of one kind are cut up. A step along the depth is a pair of bf16 or a single number, four bytes of a packed row.
struct ProductTiles {
  int tile_rows;       // left rows whose sums stay in registers
  int panel_rows;      // right rows that are packed side by side, a multiple of 16
  int step_depth;      // numbers of the depth in a step
  int slice_steps;     // at most so many steps are multiplied at a time, a multiple of 16
  int several_steps;   // and so many where that is not the whole depth
  int block_rows;      // left rows that stay in the second cache, a multiple of tile_rows
  int packed_numbers;  // of the right operand, at a time, so that packing and multiplying them share a cache
};
// 24 vectors of sums, 3 of the panel and 1 of the strip, of 32.
inline constexpr ProductTiles pair_tiles{8, 48, 2, 192, 192, 128, 3 << 20}, wide_single_tiles{8, 48, 1, 192, 192, 128, 3 << 19};
// 12, 2 and 1, of 16 that are half as long.
inline constexpr ProductTiles narrow_single_tiles{6, 16, 1, 384, 384, 144, 1 << 19};
// 4 tiles of sums, 2 of a panel and 2 of strips. Both operands' slices pass through the first cache, and the right one stays in the second.
inline constexpr ProductTiles matrix_unit_tiles{32, 32, 2, 192, 128, 128, 3 << 18};
inline constexpr long packed_rows = 192;  // of the right operand, that one task packs: whole panels of any kind

/// An operand of a product: rows of numbers along the depth, with strides in elements.
struct ProductOperand {
  const char* data;
  long rows, row_stride, depth_stride;
};
/// A matrix that is read or written where sums are complete; neighbours in a row lie side by side.
struct ProductMatrix {
  char* data;
  long row_bytes;  // 0: one row for all
  long element_bytes;
};
struct ProductLaunch {
  ProductOperand left, right;
  long depth, slice, slices;                      // slices of `slice`, whole squares of 16 steps, the last one perhaps shorter
  long block_rows, block_panels, column_blocks;   // left rows, panels, and how many of these blocks lie beside one another
  char *right_panels, *left_strips, *sums;        // memory, aligned to 64: of all panels; of a thread's strips and sums
  bool begins, ends, sums_are_kept;               // of a depth that is multiplied in several calls sums are kept, for all blocks
  int results, matrix_count;
  const ProductMatrix* matrices;                  // the results, then what is read beside the sums
};
/// Packs panels, or computes blocks, from `first` to before `last`.
using ProductFunction = void (*)(const ProductLaunch&, long first, long last);

}  // namespace fulgurite::FULGURITE_KERNELS
