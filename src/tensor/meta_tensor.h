#pragma once
#include "tensor/tensor_impl.h"

namespace fulgurite {

/// A tensor with sizes, strides and an offset but without elements, for rules that read only these.
Tensor meta_tensor(const Sizes& sizes, const Sizes& strides, int64_t offset, Dtype);

}  // namespace fulgurite
