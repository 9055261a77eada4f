#include "ops/linalg/matrix_rules.h"

namespace fulgurite {

void require_matrices(const Tensor& x, std::string_view name) {
  require(x.ndim() >= 2, name, " needs at least two dimensions, [..., rows, columns], not ", x.ndim());
  require(x.dtype() == Dtype::f32 || x.dtype() == Dtype::f64, name, " needs the dtype f32 or f64, not ", x.dtype());
}

void require_square(const Tensor& x, std::string_view name) {
  require_matrices(x, name);
  require(x.size(-1) == x.size(-2), name, " needs square matrices, not ", x.size(-2), " rows and ", x.size(-1),
          " columns");
}

Shape batch_shape(const Tensor& x) {
  Shape shape = x.shape();
  shape.pop_back();
  shape.pop_back();
  return shape;
}

Shape with_matrix(Shape batch, Int rows, Int columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

Tensor transposed(const Tensor& x, SourceLocation at) { return transpose(x, -2, -1, at); }

Tensor diagonal_mask(Int size, Device device, SourceLocation at) {
  return eye(size, size, {.dtype = Dtype::boolean, .device = device}, at);
}

}  // namespace fulgurite
