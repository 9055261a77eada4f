#pragma once
#include "executors/eager/kernels/common/compute.h"

// Batches of matrices, [..., rows, columns], of f32 or f64.
namespace fulgurite::FULGURITE_KERNELS {

/// The size of the dimension that is the from_end-th from the last: 1 for columns, 2 for rows.
inline int64_t last(const Tensor& t, size_t from_end) { return sizes_of(t)[sizes_of(t).size() - from_end]; }
/// The matrices of a batch.
inline int64_t batch_of(const Tensor& t) {
  int64_t count = 1;
  for (size_t d = 0; d + 2 < sizes_of(t).size(); ++d) count *= sizes_of(t)[d];
  return count;
}
/// The matrices of n rows and columns whose work is worth a thread.
inline int64_t grain_of_cube(int64_t n) { return 1 + 50000 / (n * n * n + 1); }

template <class F>
void visit_matrices(const Tensor& t, F&& f) {
  if (t.impl()->dtype == Dtype::f64) f.template operator()<double>();
  else f.template operator()<float>();
}

}  // namespace fulgurite::FULGURITE_KERNELS
