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
};
struct Launch {
  long columns;         // elements of a row
  int row_dimensions;   // the rows are numbered through these, the last one fastest
  long row_sizes[most_row_dimensions];
  const Operand* operands;
  const double* numbers;
  char* kept;           // memory for rows that the kernel keeps for itself
  long kept_stride;     // bytes of one
};
/// Computes the rows from `first` to before `last`.
using KernelFunction = void (*)(const Launch&, long first, long last);

}  // namespace fulgurite::FULGURITE_KERNELS
