#pragma once
#include "tensor/tensor_impl.h"

namespace fulgurite {

/// A tensor that has sizes, strides and an offset but no elements, for rules that look at these alone.
Tensor meta_tensor(const Sizes& sizes, const Sizes& strides, int64_t offset, Dtype);

}  // namespace fulgurite
