#include "tensor/meta_tensor.h"

namespace fulgurite {

Tensor meta_tensor(const Sizes& sizes, const Sizes& strides, int64_t offset, Dtype dtype) {
  TensorImplRef impl(new TensorImpl);
  impl->sizes = sizes;
  impl->strides = strides;
  impl->offset = offset;
  impl->dtype = dtype;
  update_contiguity(*impl);
  return Tensor(std::move(impl));
}

}  // namespace fulgurite
