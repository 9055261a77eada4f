#pragma once
#include "tensor/tensor_impl.h"

namespace fulgurite {

/// Returns true if a tensor with these sizes and strides repeats one element along a dimension, as after expand().
bool repeats_elements(const Sizes& sizes, const Sizes& strides);
/// Returns true if two indices of such a tensor may alias. Conservative: some tensors without aliasing are reported
/// too.
bool may_overlap_itself(const Sizes& sizes, const Sizes& strides);
/// Returns true if the elements of `values` that are written to one element of `destination` (same sizes and dtype) are
/// bitwise equal.
bool agrees_where_it_overlaps(const Tensor& values, const Tensor& destination);

}  // namespace fulgurite
