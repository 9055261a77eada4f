#pragma once
#include "tensor/tensor_impl.h"

namespace fulgurite::FULGURITE_KERNELS {

/// The offsets of the elements of `count` tensors of the same sizes, row by row in row-major order; merges dimensions
/// that are contiguous in all of them. The last dimension is the row.
template <int count>
struct StridedLoop {
  Sizes sizes;           // outermost first; always at least one dimension
  Sizes strides[count];  // in elements

  /// Merges dimensions; drops those of size 1.
  void merge_dimensions() {
    Sizes merged_sizes, merged_strides[count];  // innermost first
    for (size_t d = sizes.size(); d-- > 0;) {
      if (sizes[d] == 1) continue;
      bool fits = !merged_sizes.empty();
      for (int k = 0; fits && k < count; ++k) fits = strides[k][d] == merged_strides[k].back() * merged_sizes.back();
      if (fits) {
        merged_sizes.back() *= sizes[d];
        continue;
      }
      merged_sizes.push_back(sizes[d]);
      for (int k = 0; k < count; ++k) merged_strides[k].push_back(strides[k][d]);
    }
    if (merged_sizes.empty()) {
      merged_sizes.push_back(1);
      for (int k = 0; k < count; ++k) merged_strides[k].push_back(1);
    }
    const size_t n = merged_sizes.size();
    sizes.resize(n);
    for (size_t d = 0; d < n; ++d) sizes[d] = merged_sizes[n - 1 - d];
    for (int k = 0; k < count; ++k) {
      strides[k].resize(n);
      for (size_t d = 0; d < n; ++d) strides[k][d] = merged_strides[k][n - 1 - d];
    }
  }
  int64_t row_length() const { return sizes.back(); }
  int64_t row_count() const {
    int64_t rows = 1;
    for (size_t d = 0; d + 1 < sizes.size(); ++d) rows *= sizes[d];
    return rows;
  }
};

/// Iterates over the rows of a loop: offsets[k] is the start of tensor k's row, in elements.
template <int count>
class RowPosition {
 public:
  RowPosition(const StridedLoop<count>& loop, int64_t row) : loop_(loop), index_(loop.sizes.size() - 1) {
    for (size_t d = index_.size(); d-- > 0;) {
      index_[d] = row % loop.sizes[d];
      row /= loop.sizes[d];
      for (int k = 0; k < count; ++k) offsets[k] += index_[d] * loop.strides[k][d];
    }
  }
  void advance() {
    for (size_t d = index_.size(); d-- > 0;) {
      for (int k = 0; k < count; ++k) offsets[k] += loop_.strides[k][d];
      if (++index_[d] < loop_.sizes[d]) return;
      for (int k = 0; k < count; ++k) offsets[k] -= loop_.sizes[d] * loop_.strides[k][d];
      index_[d] = 0;
    }
  }
  int64_t offsets[count] = {};

 private:
  const StridedLoop<count>& loop_;
  Sizes index_;
};

/// The strides of `tensor` broadcast to `sizes`: 0 along broadcast dimensions.
inline __attribute__((always_inline)) Sizes broadcast_strides(const TensorImpl& tensor, const Sizes& sizes) {
  Sizes strides(sizes.size());
  const size_t lead = sizes.size() - tensor.sizes.size();
  for (size_t d = lead; d < sizes.size(); ++d) strides[d] = tensor.sizes[d - lead] == 1 ? 0 : tensor.strides[d - lead];
  return strides;
}

}  // namespace fulgurite::FULGURITE_KERNELS
