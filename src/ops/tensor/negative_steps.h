#pragma once
#include <span>
#include <vector>

#include "ops/core/rules.h"

namespace fulgurite {

/// Returns true if one of the indices is a slice with a negative step.
bool has_negative_step(std::span<const Argument> indices);

/// x(indices…) with negative steps as flip(x(forward indices…), dims): the forward indices make a view.
struct ForwardIndices {
  std::vector<Slice> slices;  // those that replace slices with a negative step, in order
  std::vector<Argument> indices;
  std::vector<Int> flipped;  // dimensions of the result
};
/// UserError if a tensor or a list stands among the indices.
ForwardIndices forward_indices(const Tensor& x, std::span<const Argument> indices, SourceLocation at);

}  // namespace fulgurite
