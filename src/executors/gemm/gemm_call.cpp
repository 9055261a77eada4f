#include "executors/gemm/gemm_call.h"

#include "runtime/copy_elements.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::fused_gemm {

namespace {

Tensor copied(const Tensor& tensor) {
  Tensor copy = make_tensor(tensor.impl()->sizes, tensor.impl()->dtype);
  copy_elements(tensor, copy);
  return copy;
}

// Returns true if all dimensions but the last have one common stride.
bool has_rows(const TensorImpl& tensor) {
  const size_t last = tensor.sizes.size() - 1;
  int64_t next = 0;
  for (size_t d = last; d-- > 0;) {
    if (tensor.sizes[d] == 1) continue;
    if (next != 0 && tensor.strides[d] != next) return false;
    next = tensor.strides[d] * tensor.sizes[d];
  }
  return true;
}

// Flattens all dimensions but the last into rows.
DepthMatrix rows_of(const TensorImpl& tensor) {
  const size_t last = tensor.sizes.size() - 1;
  DepthMatrix rows{tensor.data(), 1, 0, tensor.strides[last]};
  for (size_t d = last; d-- > 0;) {
    if (rows.rows == 1) rows.row_stride = tensor.strides[d];
    rows.rows *= tensor.sizes[d];
  }
  return rows;
}

// Makes contiguous columns of a row with strided ones, or of one number for all.
Tensor expanded(const Tensor& given, int64_t columns) {
  Sizes sizes = given.impl()->sizes;
  sizes[sizes.size() - 1] = columns;
  Tensor copy = make_tensor(sizes, given.impl()->dtype);
  copy_elements(given, copy);
  return copy;
}

}  // namespace

EpilogueMatrix::EpilogueMatrix(const Tensor& given, bool is_row, int64_t columns) {
  const TensorImpl& impl = *given.impl();
  const size_t last = impl.sizes.size() - 1;
  const bool lies_well =
      impl.sizes[last] == columns && (impl.strides[last] == 1 || columns == 1) && (is_row || has_rows(impl));
  if (!lies_well) copy_ = is_row ? expanded(given, columns) : copied(given);
  const TensorImpl& read = lies_well ? impl : *copy_.impl();
  matrix_ = {read.data(), is_row ? 0 : rows_of(read).row_stride};
}

GemmCall::GemmCall(const GemmOp& gemm, Arguments arguments, std::span<const Tensor> results) {
  const Tensor& left = arguments[0].tensor();
  left_ = has_rows(*left.impl()) ? left : copied(left);
  const TensorImpl& right = *arguments[1].tensor().impl();
  arguments_.left = rows_of(*left_.impl());
  arguments_.depth = left_.impl()->sizes.back();
  const size_t dimension = gemm.is_linear ? 0 : 1;
  const int64_t columns = right.sizes[dimension];
  arguments_.right = {right.data(), columns, right.strides[dimension], right.strides[1 - dimension]};
  size_t count = 0;
  for (const Tensor& result : results) matrices_[count++] = {result.impl()->data(), columns};
  const codegen::GemmEpilogue& epilogue = gemm.form.epilogue;
  for (size_t k = 0; k < epilogue.operands.size(); ++k) {
    operands_[k].emplace(arguments[2 + k].tensor(), epilogue.operands[k].is_row, columns);
    matrices_[count++] = operands_[k]->matrix();
  }
  arguments_.matrices = {matrices_.data(), count};
}

}  // namespace fulgurite::fused_gemm
