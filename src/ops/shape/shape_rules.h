#pragma once
#include "ops/core/rules.h"

namespace fulgurite {

/// `dim` counted from the front; a 0-d tensor counts as having one dimension.
int64_t wrap_dim(Int dim, int64_t ndim);
/// `dims` counted from the front; a RuleError if one is repeated.
SmallVector<int64_t, 6> wrap_dims(std::span<const Int> dims, int64_t ndim);
/// A result with x's dtype and device.
TensorType like(const Tensor& x, Shape shape);
/// `index` counted from the front, within [0, size); otherwise a RuleError.
Int wrap_index(Int index, Int size);
/// Python's slice rule: both ends counted from the front, clamped to [0, size], stop not before start.
struct Range {
  Int start, stop;
};
Range clamp_range(std::optional<Int> start, std::optional<Int> stop, Int size);
/// A positive step, at most the size: beyond it the range has one element anyway, and the size does not overflow.
Int step_within(Int step, Int size);
/// The number of steps of `step` in the range.
Int range_length(const Range& range, Int step);

/// Returns true if a requested size is valid and not -1. Does not read symbols: the rules run again when they are
/// specialized.
bool may_be_size(Int);
/// The sizes of reshape(input, wanted): -1 filled in, the number of elements checked.
Shape resolve_shape(const Shape& input, std::span<const Int> wanted);
/// The strides that give a strided tensor's elements, in order, other sizes; false if a copy is required.
bool reshape_strides(const Sizes& sizes, const Sizes& strides, const Sizes& wanted, Sizes& result);
/// Error text for a write through a view whose elements overlap.
inline constexpr std::string_view overlapping_write =
    "more than one element of the tensor that is written refers to a single place in memory; clone() it first";
/// The sizes, strides and offset of a tensor with memory.
ViewGeometry geometry_of(const Tensor&);
/// The sizes of a Shape without symbols.
Sizes concrete_sizes(const Shape& shape);

}  // namespace fulgurite
