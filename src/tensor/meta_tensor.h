#pragma once
#include "tensor/tensor_impl.h"

namespace fulgurite {

/// A tensor that has sizes, strides and an offset but no elements, for rules that look at these alone.
Tensor tensor_without_memory(const Sizes& sizes, const Sizes& strides, int64_t offset, Dtype);

}  // namespace fulgurite
