#include "executors/eager/kernels/reduction.h"

#include "ops/reduction_rules.h"

namespace fulgurite::FULGURITE_KERNELS {

ReductionPlaces::ReductionPlaces(const Tensor& input, const Argument& dims) {
  const TensorImpl& tensor = *input.impl();
  const auto is_reduced = reduced_dims(dims, static_cast<int64_t>(tensor.sizes.size()));
  data = tensor.data();
  dtype = tensor.dtype;
  results = count = 1;
  for (size_t d = 0; d < tensor.sizes.size(); ++d) {
    StridedLoop<1>& loop = is_reduced[d] ? reduced : kept;
    loop.sizes.push_back(tensor.sizes[d]);
    loop.strides[0].push_back(tensor.strides[d]);
    (is_reduced[d] ? count : results) *= tensor.sizes[d];
  }
  if (count == 0 || results == 0) return;
  kept.merge_dimensions();
  reduced.merge_dimensions();
}

}  // namespace fulgurite::FULGURITE_KERNELS
