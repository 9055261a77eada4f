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
  long kept_stride;     // bytes of one
  long ahead = 1024;    // so many bytes before they are read elements are asked for
};
/// Computes the rows from `first` to before `last`.
using KernelFunction = void (*)(const Launch&, long first, long last);

inline constexpr long slice_depth = 384;  // at most this much of a product's depth is multiplied at a time

/// An operand of a product: rows of numbers along the depth, with strides in elements.
struct ProductOperand {
  const char* data;
  long rows, row_stride, depth_stride;
};
/// A matrix that is read or written where sums are complete; neighbours in a row lie side by side.
struct ProductMatrix {
  char* data;
  long row_bytes;  // 0: one row for all
};
struct ProductLaunch {
  ProductOperand left, right;
  long depth, slice, slices;                      // slices of `slice`, a multiple of 32, the last one perhaps shorter
  long block_rows, block_panels, column_blocks;   // of left rows, of 48 right rows each, and how many of these beside one another
  char *right_panels, *left_strips, *sums;        // memory, aligned to 64: of all panels; of a thread's strips and sums
  bool begins, ends, sums_are_kept;               // of a depth that is multiplied in several calls sums are kept, for all blocks
  long result_bytes;                              // of an element
  const ProductMatrix* matrices;                  // the result, then what is read beside it
};
/// Packs panels, or computes blocks, from `first` to before `last`.
using ProductFunction = void (*)(const ProductLaunch&, long first, long last);

}  // namespace fulgurite::FULGURITE_KERNELS
