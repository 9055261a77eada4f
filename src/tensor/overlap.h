#pragma once
#include "tensor/tensor_impl.h"

namespace fulgurite {

/// Returns true if a tensor with these sizes and strides has one element at several places along a dimension, as after expand().
bool repeats_elements(const Sizes& sizes, const Sizes& strides);
/// Returns true if two places of such a tensor may be one in memory. Some tensors without such places are reported too.
bool may_overlap_itself(const Sizes& sizes, const Sizes& strides);
/// Returns true if the elements of `values` that go to one place of `destination` (same sizes and dtype) are the same, to the bit.
bool agrees_where_it_overlaps(const Tensor& values, const Tensor& destination);

}  // namespace fulgurite
