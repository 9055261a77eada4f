// The arguments of generated kernels.
#pragma once

#ifndef FULGURITE_KERNELS
#define FULGURITE_KERNELS kernels
#endif

namespace fulgurite::FULGURITE_KERNELS {

inline constexpr int max_row_dimensions = 8;

/// A tensor as a kernel sees it: its first element, and the bytes between neighbours along each of the rows'
/// dimensions.
struct Operand {
  char* data;
  long strides[max_row_dimensions];
  bool is_streamed = false;  // a result with non-temporal stores
};
struct Launch {
  long columns;        // elements of a row
  int row_dimensions;  // the rows are numbered through these, the last one fastest
  long row_sizes[max_row_dimensions];
  const Operand* operands;
  const double* numbers;
  char* kept;         // scratch memory for cached rows
  long kept_stride;   // bytes of a cached row, or of a row of column sums
  long ahead = 1024;  // prefetch distance in bytes
};
inline constexpr long summed_rows = 8;  // rows that a column's sum adds up before it is joined with others
/// Computes the rows from `first` to before `last`.
using KernelFunction = void (*)(const Launch&, long first, long last);

/// The blocking of one kind of GEMM. A step along K is a pair of bf16 or a single number, four bytes of a packed row.
struct GemmTiles {
  int tile_rows;       // left rows whose sums stay in registers
  int panel_rows;      // right rows that are packed side by side, a multiple of 16
  int step_depth;      // elements of K in a step
  int slice_steps;     // the maximum of steps in a K block, a multiple of 16
  int several_steps;   // the maximum if there are several K blocks
  int block_rows;      // left rows that stay in the L2 cache, a multiple of tile_rows
  int packed_numbers;  // of the right operand, at a time, so that packing and multiplying them share a cache
};
// 24 of the 32 registers hold sums, 3 the panel and 1 the micro-panel.
inline constexpr GemmTiles pair_tiles{8, 48, 2, 192, 192, 128, 3 << 20},
    wide_single_tiles{8, 48, 1, 192, 192, 128, 3 << 19};
// 12, 2 and 1 of 16 registers of half the length.
inline constexpr GemmTiles narrow_single_tiles{6, 16, 1, 384, 384, 144, 1 << 19};
// 4 of the 8 tiles hold sums, 2 a panel, 2 micro-panels. K blocks of both operands pass through the L1 cache; the
// right one stays in the L2 cache.
inline constexpr GemmTiles amx_tiles{32, 32, 2, 192, 128, 128, 3 << 18};
inline constexpr long packed_rows = 192;  // of the right operand, packed by one task: whole panels of any kind

/// An operand of a GEMM: rows along K, with strides in elements.
struct GemmOperand {
  const char* data;
  long rows, row_stride, depth_stride;
};
/// A matrix that the epilogue reads or writes; its rows are contiguous.
struct GemmMatrix {
  char* data;
  long row_bytes;  // 0: one row for all
  long element_bytes;
};
struct GemmLaunch {
  GemmOperand left, right;
  // elements of K in this call and in a K block, a multiple of 16 steps; K blocks, the last of which may be shorter
  long depth, slice, slices;
  // left rows, panels, and the number of these blocks beside one another
  long block_rows, block_panels, column_blocks;
  // memory, aligned to 64: of all panels; of a thread's micro-panels and sums
  char *right_panels, *left_strips, *sums;
  // if K is multiplied in several calls, the sums of all blocks are kept between them
  bool begins, ends, sums_are_kept;
  int results, matrix_count;
  const GemmMatrix* matrices;  // the results, then the epilogue's operands
};
/// Packs panels, or computes blocks, from `first` to before `last`.
using GemmFunction = void (*)(const GemmLaunch&, long first, long last);

}  // namespace fulgurite::FULGURITE_KERNELS
