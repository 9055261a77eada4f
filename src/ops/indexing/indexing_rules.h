#pragma once
#include "ops/core/rules.h"

namespace fulgurite {

/// The shape of prims.index(input, indices); checks the indices.
Shape indexed_shape(const Tensor& input, std::span<const Tensor> indices);
/// Index tensors as prims.index takes them: masks become the places of their true elements, which asks for the masks' values.
std::vector<Tensor> integer_indices(const Tensor& input, const std::vector<Tensor>& indices, SourceLocation at);
/// index_put with one mask, of values that do not depend on how many of its elements are true: it needs no places. Undefined for other
/// indices and values.
Tensor put_under_mask(const Tensor& input, const std::vector<Tensor>& indices, const Tensor& values, bool accumulate, SourceLocation at);
/// x[indices…] in terms of select, slice, unsqueeze and prims.index.
Tensor index_with(const Tensor& input, std::span<const Argument> indices, SourceLocation at);
/// What x(indices…) reads or writes: elements of a view of x, listed by indices as torch.index_put accepts them. Empty: the whole view.
struct IndexedView {
  Tensor view;
  std::vector<Tensor> indices;
};
IndexedView indexed_view(const Tensor& input, std::span<const Argument> indices, SourceLocation at);
/// Whether the indices are only full slices and an ellipsis: x[indices…] is then the whole of x.
bool is_whole(std::span<const Argument> indices);
/// The shape rule of scatter(input, dim, index, source or number, …) and its kin.
void infer_scatter(Arguments, InferredTypes&);
/// The cotangent of a scatter's source: what the result's cotangent has at the places, zero where the source was not read.
Tensor scatter_source_cotangent(const Tensor& g, Int dim, const Tensor& index, const Shape& source);

}  // namespace fulgurite
