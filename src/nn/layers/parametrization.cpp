#include <fulgurite/autograd.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>
#include <fulgurite/parametrization.h>

#include "support/text/text.h"

namespace fulgurite::nn::parametrization_detail {

namespace {

std::vector<int64_t> dims_except(const Tensor& v, int64_t dim) {
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < v.ndim(); ++d)
    if (d != dim) dims.push_back(d);
  return dims;
}

Tensor as_matrix(const Tensor& weight, int64_t dim, SourceLocation at) {
  return flatten(dim == 0 ? weight : movedim(weight, dim, 0, at), 1, -1, at);
}

void move_vectors(const Tensor& matrix, const Tensor& u, const Tensor& v, int64_t iterations, double eps,
                  SourceLocation at) {
  const NoGrad no_grad;
  for (int64_t i = 0; i < iterations; ++i) {
    u.copy_(normalize(mv(matrix, v, at), 2.0, 0, eps, at), at);
    v.copy_(normalize(mv(t(matrix, at), u, at), 2.0, 0, eps, at), at);
  }
}

}  // namespace

Tensor norm_except(const Tensor& v, int64_t dim, SourceLocation at) {
  if (dim < 0) return linalg::vector_norm(v, 2, {}, false, {}, at);
  const std::vector<int64_t> dims = dims_except(v, dim);
  return dims.empty() ? abs(v, at) : linalg::vector_norm(v, 2, dims, true, {}, at);
}

Tensor weight_of(const Tensor& magnitude, const Tensor& direction, int64_t dim, SourceLocation at) {
  const Tensor norm = norm_except(direction, dim, at);
  const Tensor factor = div(magnitude, norm, {}, at);
  return mul(direction, factor, at);
}

int64_t checked_dim(const Tensor& weight, int64_t dim, bool allows_all, std::string_view function, SourceLocation at) {
  if (!weight.defined()) throw UserError(text::cat(function, ": the layer has no weight"), at);
  if (allows_all && dim == -1) return dim;
  if (dim < -weight.ndim() || dim >= weight.ndim())
    throw UserError(text::cat(function, ": dim ", dim, " for a weight of ", weight.ndim(), " dimensions"), at);
  return dim < 0 ? dim + weight.ndim() : dim;
}

Tensor as_parameter(const Tensor& value) { return value.detach().clone().requires_grad_(); }

std::pair<Tensor, Tensor> first_vectors(const Tensor& weight, int64_t dim, double eps, SourceLocation at) {
  if (weight.ndim() < 2) return {};
  const NoGrad no_grad;
  const Tensor matrix = as_matrix(weight.detach(), dim, at);
  const Tensor u = normalize(randn({matrix.size(0)}, {.dtype = weight.dtype()}, at), 2.0, 0, eps, at);
  const Tensor v = normalize(randn({matrix.size(1)}, {.dtype = weight.dtype()}, at), 2.0, 0, eps, at);
  move_vectors(matrix, u, v, 15, eps, at);
  return {u, v};
}

Tensor divided_by_norm(const Tensor& weight, const Tensor& u, const Tensor& v, int64_t dim, int64_t iterations,
                       double eps, bool training, SourceLocation at) {
  if (weight.ndim() < 2) return normalize(weight, 2.0, 0, eps, at);
  const Tensor matrix = as_matrix(weight, dim, at);
  if (training) move_vectors(matrix, u, v, iterations, eps, at);
  // Copies, so that a second call before the backward may move the vectors.
  const Tensor left = u.clone(), right = v.clone();
  const Tensor norm = dot(left, mv(matrix, right, at), at);
  return div(weight, norm, {}, at);
}

}  // namespace fulgurite::nn::parametrization_detail
