#pragma once
#include "ops/core/dispatch.h"

namespace fulgurite {

// What reductions share. `dims` is an argument of type int, int[] or none; none and an empty list mean every dimension.

/// One flag a dimension: whether it is reduced. Fails on a dimension that is out of range or given twice.
SmallVector<bool, 6> reduced_dims(const Argument& dims, int64_t ndim);
/// The shape without the reduced dimensions, or with size 1 in their place.
Shape reduced_shape(const Shape&, const Argument& dims, bool keepdim);
/// How many elements one result element is made of.
Int reduced_count(const Shape&, const Argument& dims);
/// The dimensions as the typed functions take them.
Dims as_dims(const Argument& dims);
/// A reduction's result or cotangent with the reduced dimensions back, of size 1: it broadcasts with the input.
Tensor with_reduced_dims(const Tensor& reduced, const Shape& input, const Argument& dims, bool keepdim);
/// The same, expanded to the input's shape.
Tensor expanded_to_input(const Tensor& reduced, const Shape& input, const Argument& dims, bool keepdim);
/// The cotangent of x from that of its norm, both with the reduced dimensions as size 1. As PyTorch: zero where the norm is.
Tensor norm_backward(const Tensor& cotangent, const Tensor& x, const Tensor& norm, Float order, const Dims& dims);
/// Fails where a reduction without an identity would reduce no elements.
void require_elements(const Tensor& input, const Argument& dims);

}  // namespace fulgurite
