#pragma once
#include "executors/eager/kernels/linalg/matrix_vector.h"

// Products with a large K: sums of blocks are added pairwise, as in reductions. Sequential addition loses the part of
// each product below half a unit in the last place of the sum: 0.4 % of 2^25 equal ones in f32.
namespace fulgurite::FULGURITE_KERNELS {

/// The split point of a K of several blocks.
inline int64_t first_half(int64_t depth, int64_t block) { return (depth / 2 + block - 1) / block * block; }

/// dot() of any length.
template <class Element>
Compute<Element> long_dot(const Element* a, int64_t a_stride, const Element* b, int64_t b_stride, int64_t count) {
  constexpr int64_t block = 16384;  // sums of 256 products in each of 64 accumulators
  if (count <= block) return dot(a, a_stride, b, b_stride, count);
  const int64_t half = first_half(count, block);
  const Compute<Element> first = long_dot(a, a_stride, b, b_stride, half);
  return first + long_dot(a + half * a_stride, a_stride, b + half * b_stride, b_stride, count - half);
}

/// add_rows() of any K, for at most `most` columns.
template <int64_t most, class X, class Element>
void add_many_rows(const X* x, int64_t x_stride, const Element* rows, int64_t row_stride, int64_t depth, int64_t count,
                   Compute<Element>* sums) {
  constexpr int64_t block = 128;
  if (depth <= block) return add_rows(x, x_stride, rows, row_stride, depth, count, sums);
  const int64_t half = first_half(depth, block);
  Compute<Element> others[most];
  add_many_rows<most>(x, x_stride, rows, row_stride, half, count, sums);
  add_many_rows<most>(x + half * x_stride, x_stride, rows + half * row_stride, row_stride, depth - half, count, others);
  for (int64_t j = 0; j < count; ++j) sums[j] += others[j];
}

}  // namespace fulgurite::FULGURITE_KERNELS
