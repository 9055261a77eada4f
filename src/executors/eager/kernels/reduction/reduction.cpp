#include "executors/eager/kernels/reduction/reduction.h"

#include "executors/eager/kernels.h"
#include "ops/reduction/reduction_rules.h"

namespace fulgurite::FULGURITE_KERNELS {

ReductionLayout::ReductionLayout(const Tensor& input, const Argument& dims) : tensor(input) {
  const TensorImpl& impl = *input.impl();
  const auto is_reduced = reduced_dims(dims, static_cast<int64_t>(impl.sizes.size()));
  data = impl.data();
  dtype = impl.dtype;
  results = count = 1;
  for (size_t d = 0; d < impl.sizes.size(); ++d) {
    StridedLoop<1>& loop = is_reduced[d] ? reduced : kept;
    loop.sizes.push_back(impl.sizes[d]);
    loop.strides[0].push_back(impl.strides[d]);
    (is_reduced[d] ? count : results) *= impl.sizes[d];
  }
  if (count == 0 || results == 0) return;
  kept.merge_dimensions();
  reduced.merge_dimensions();
}

ReductionLayout ReductionLayout::in_rows() const {
  constexpr int64_t min_copied_elements = 16384;
  const int64_t stride = reduced.strides[0].back();
  if (is_row() || stride == 0 || stride == 1 || results * count < min_copied_elements) return *this;
  const TensorImpl& impl = *tensor.impl();
  Sizes sizes = kept.sizes, strides = kept.strides[0];
  sizes.append(reduced.sizes.begin(), reduced.sizes.end());
  strides.append(reduced.strides[0].begin(), reduced.strides[0].end());
  ReductionLayout rows = *this;
  rows.tensor = make_tensor(sizes, dtype);
  copy_elements(make_view(impl.storage, sizes, strides, impl.offset, dtype), rows.tensor);
  rows.data = rows.tensor.impl()->data();
  rows.kept.sizes = {results};
  rows.kept.strides[0] = {count};
  rows.reduced.sizes = {count};
  rows.reduced.strides[0] = {1};
  return rows;
}

}  // namespace fulgurite::FULGURITE_KERNELS
