#pragma once
#include "ops/core/rules.h"

namespace fulgurite {

/// The shape of prims.index(input, indices); checks the indices.
Shape indexed_shape(const Tensor& input, std::span<const Tensor> indices);
/// The index tensors of prims.index: masks become the indices of their true elements, which reads the masks' values.
std::vector<Tensor> integer_indices(const Tensor& input, const std::vector<Tensor>& indices, SourceLocation at);
/// index_put with one mask, for values that do not depend on the number of its true elements: it needs no indices.
/// Undefined for other indices and values.
Tensor put_under_mask(const Tensor& input, const std::vector<Tensor>& indices, const Tensor& values, bool accumulate,
                      SourceLocation at);
/// x[indices…] as select, slice, unsqueeze and prims.index.
Tensor index_with(const Tensor& input, std::span<const Argument> indices, SourceLocation at);
/// The elements that x(indices…) reads or writes: elements of a view of x, listed by indices as torch.index_put accepts
/// them. Empty: the complete view.
struct IndexedView {
  Tensor view;
  std::vector<Tensor> indices;
};
IndexedView indexed_view(const Tensor& input, std::span<const Argument> indices, SourceLocation at);
/// Returns true if the indices are only full slices and an ellipsis: x[indices…] is then all of x.
bool is_whole(std::span<const Argument> indices);
/// The shape rule of scatter(input, dim, index, source or number, …) and similar operators.
void infer_scatter(Arguments, InferredTypes&);
/// The cotangent of a scatter's source: the result's cotangent gathered at the indices, zero where the source was not
/// read.
Tensor scatter_source_cotangent(const Tensor& g, Int dim, const Tensor& index, const Shape& source);

}  // namespace fulgurite
