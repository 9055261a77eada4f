#pragma once
#include <algorithm>
#include <numeric>

#include "executors/eager/kernels/common/compute.h"

// The division of a convolution into GEMMs: functions of the sizes alone, so that results do not depend on the threads.
namespace fulgurite::FULGURITE_KERNELS {

/// Results along one dimension that read the same kernel elements. Result first + j * result_step, j < count, is the
/// sum over t < taps of kernel[kernel_first + t * kernel_step] * input[j * step + offset + t * offset_step], without
/// the terms outside the input.
struct AxisPart {
  int64_t first, result_step, count;
  int64_t taps, kernel_first, kernel_step;
  int64_t step, offset, offset_step;
};

/// One spatial dimension of a convolution.
struct Axis {
  int64_t input = 1, result = 1, kernel = 1, stride = 1, padding = 0, dilation = 1;

  int64_t part_count(bool transposed) const { return transposed ? std::min(stride, result) : 1; }
  AxisPart part(bool transposed, int64_t number) const {
    if (!transposed) return {0, 1, result, kernel, 0, 1, stride, -padding, dilation};
    // In a transposed convolution, results at the same position between strides read the same kernel elements: those k
    // for which number + padding - k * dilation is a multiple of the stride.
    const int64_t common = std::gcd(stride, dilation), kernel_step = stride / common;
    AxisPart p{number, stride, (result - number + stride - 1) / stride, 0, 0, kernel_step, 1, 0, -(dilation / common)};
    while (p.kernel_first < std::min(kernel, kernel_step) &&
           (number + padding - p.kernel_first * dilation) % stride != 0)
      ++p.kernel_first;
    if (p.kernel_first >= std::min(kernel, kernel_step)) return p;
    p.taps = (kernel - p.kernel_first + kernel_step - 1) / kernel_step;
    p.offset = (number + padding - p.kernel_first * dilation) / stride;
    return p;
  }
};

/// The range low <= i < high of the positions first + i * step, i < count, that are within [0, size).
struct Within {
  int64_t low, high;
};
inline Within places_within(int64_t first, int64_t step, int64_t count, int64_t size) {
  const int64_t low = first >= 0 ? 0 : step == 1 ? -first : (-first + step - 1) / step;
  const int64_t high = first >= size ? 0 : step == 1 ? size - first : (size - 1 - first) / step + 1;
  return {std::min(low, count), std::max(std::min(low, count), std::min(high, count))};
}

/// One GEMM for each group: rows × depth of the weight by depth × columns of the input, in blocks.
struct Blocks {
  int64_t rows, depth, columns;     // of a block
  int64_t row_count, column_count;  // blocks of a group
  bool within_samples;              // no block has columns of two samples
  int64_t columns_per_sample, sample_blocks;
};

inline int64_t even_chunks(int64_t size, int64_t most, int64_t unit) {
  if (size <= most) return std::max<int64_t>(size, 1);
  const int64_t count = (size + most - 1) / most, chunk = (size + count - 1) / count;
  return (chunk + unit - 1) / unit * unit;
}

inline Blocks cut_convolution(int64_t groups, int64_t rows, int64_t depth, int64_t samples,
                              int64_t columns_per_sample) {
  constexpr int64_t max_elements = 131072, wanted_tasks = 8;
  Blocks b;
  b.rows = rows;
  b.depth = even_chunks(depth, 1024, 16);
  const int64_t max_columns = std::clamp<int64_t>(
      max_elements / std::max<int64_t>(1, std::max(b.depth, std::min<int64_t>(rows, 1024))), 64, 1024);
  b.columns_per_sample = columns_per_sample;
  b.within_samples = columns_per_sample >= max_columns || samples == 1;
  const int64_t range = b.within_samples ? columns_per_sample : samples * columns_per_sample;
  b.columns = even_chunks(range, max_columns, 16);
  b.sample_blocks = (range + b.columns - 1) / b.columns;
  b.column_count = b.sample_blocks * (b.within_samples ? samples : 1);
  const int64_t tasks = std::max<int64_t>(1, groups * b.column_count);
  const int64_t splits = std::min((wanted_tasks + tasks - 1) / tasks, (rows + 31) / 32);
  if (splits > 1) b.rows = ((rows + splits - 1) / splits + 15) / 16 * 16;
  b.row_count = (rows + b.rows - 1) / b.rows;
  return b;
}

/// Columns [first, first + count) of a GEMM that are in one row of results.
struct ColumnRun {
  int64_t column, count, sample, place[3];
};

}  // namespace fulgurite::FULGURITE_KERNELS
