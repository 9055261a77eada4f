#pragma once
#include <fulgurite/tensor.h>

namespace fulgurite {

/// Returns true if broadcasting `shape` can give `from`.
bool sums_to(const Shape& from, const Shape& shape);
/// Returns true for identical values and symbols, without reading any.
bool is_same_shape(const Shape& a, const Shape& b);
/// Sums away the dimensions that broadcasting from `shape` added or stretched.
Tensor sum_to_shape(const Tensor& cotangent, const Shape& shape);

}  // namespace fulgurite
