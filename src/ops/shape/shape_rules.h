#pragma once
#include "ops/core/rules.h"

namespace fulgurite {

/// `dim` counted from the front; a tensor without dimensions counts as having one.
int64_t wrap_dim(Int dim, int64_t ndim);
/// Each of `dims` counted from the front; a RuleError where one is repeated.
SmallVector<int64_t, 6> wrap_dims(std::span<const Int> dims, int64_t ndim);
/// A result of x's dtype and device.
TensorType like(const Tensor& x, Shape shape);
/// `index` counted from the front, within [0, size); a RuleError otherwise.
Int wrap_index(Int index, Int size);
/// Python's slice rule: both ends counted from the front, clamped to [0, size], stop not before start.
struct Range {
  Int start, stop;
};
Range clamp_range(std::optional<Int> start, std::optional<Int> stop, Int size);
/// A positive step, or the size where it is beyond that: both give one element at most, and the size does not overflow.
Int step_within(Int step, Int size);
/// How many steps of `step` lie in the range.
Int range_length(const Range& range, Int step);

/// Whether a wanted size is one, and not -1. Nothing is asked of a symbol: where values are given to symbols, the rules are asked again.
bool may_be_size(Int);
/// The sizes that reshape(input, wanted) gives: -1 filled in, the number of elements checked.
Shape resolve_shape(const Shape& input, std::span<const Int> wanted);
/// The strides under which a strided tensor's elements, in order, have other sizes; false where only a copy will do.
bool reshape_strides(const Sizes& sizes, const Sizes& strides, const Sizes& wanted, Sizes& result);
/// Said of a write through a view of which several elements are one.
inline constexpr std::string_view overlapping_write =
    "more than one element of the tensor that is written refers to a single place in memory; clone() it first";
/// The sizes of a Shape of plain numbers.
Sizes concrete_sizes(const Shape& shape);

}  // namespace fulgurite
