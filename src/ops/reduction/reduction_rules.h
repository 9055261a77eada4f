#pragma once
#include "ops/core/dispatch.h"

namespace fulgurite {

// Rules shared by reductions. `dims` is an argument of type int, int[] or none; none and an empty list mean every
// dimension.

/// One flag per dimension: true if it is reduced. Fails on a dimension that is out of range or repeated.
SmallVector<bool, 6> reduced_dims(const Argument& dims, int64_t ndim);
/// The shape without the reduced dimensions, or with them as size 1.
Shape reduced_shape(const Shape&, const Argument& dims, bool keepdim);
/// The number of elements reduced into one.
Int reduced_count(const Shape&, const Argument& dims);
/// The dimensions as the typed functions accept them.
Dims as_dims(const Argument& dims);
/// A reduction's result or cotangent with the reduced dimensions restored as size 1: it broadcasts with the input.
Tensor with_reduced_dims(const Tensor& reduced, const Shape& input, const Argument& dims, bool keepdim);
/// The same, expanded to the input's shape.
Tensor expanded_to_input(const Tensor& reduced, const Shape& input, const Argument& dims, bool keepdim);
/// The cotangent of x from that of its norm, both with the reduced dimensions as size 1. As in PyTorch: zero where the
/// norm is.
Tensor norm_backward(const Tensor& cotangent, const Tensor& x, const Tensor& norm, Float order, const Dims& dims);
/// Fails if a reduction without an identity would reduce no elements.
void require_elements(const Tensor& input, const Argument& dims);

}  // namespace fulgurite
