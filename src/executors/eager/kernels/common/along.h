#pragma once
#include "executors/eager/kernels/common/compute.h"

namespace fulgurite::FULGURITE_KERNELS {

/// A contiguous tensor seen from one of its dimensions: `outer` times `size` times `inner` elements.
struct Along {
  int64_t outer = 1, size = 1, inner = 1;

  /// `dim` may count from the end; a 0-d tensor has one dimension of size 1.
  Along(const Sizes& sizes, int64_t dim) {
    const int64_t ndim = static_cast<int64_t>(sizes.size());
    if (ndim == 0) return;
    if (dim < 0) dim += ndim;
    for (int64_t d = 0; d < ndim; ++d) (d < dim ? outer : d == dim ? size : inner) *= sizes[d];
  }
  int64_t numel() const { return outer * size * inner; }
};

/// The grain for parallel_for over `count` chunks of `work` elements each: chunks too small for a second thread stay
/// together. `threshold` is the number of elements that are worth a thread.
constexpr int64_t grain_of(int64_t work, int64_t threshold = 8192) { return threshold / (work > 0 ? work : 1) + 1; }

}  // namespace fulgurite::FULGURITE_KERNELS
