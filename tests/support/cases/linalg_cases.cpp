// Systems of linear equations and factors of matrices.
#include "support/cases/operator_cases.h"

namespace fulgurite::test {

namespace {

/// Square matrices that are far from singular.
Tensor regular(std::vector<int64_t> sizes) {
  const Tensor numbers = floats(sizes, -1, 1).detach(),
               identity = eye(sizes.back(), sizes.back(), {.dtype = Dtype::f64});
  return (numbers + identity * 3).detach().requires_grad_();
}
Tensor matrix(const std::vector<double>& numbers, int64_t rows) {
  return tensor(numbers).reshape({rows, -1}).detach().requires_grad_();
}

/// Bytes of all values, with no regular period.
Tensor bytes(std::vector<int64_t> sizes, Dtype dtype) {
  const Tensor count = arange(Shape(sizes).numel());
  return ((count * 89 + 13) % 256).to(Dtype::u8).to(dtype).reshape(Shape(sizes));
}
void add_code_cases(std::vector<OperatorCase>& out) {
  const OperatorCase::Keywords wide{{"dtype", Dtype::f64}};
  out.push_back({"prims.dequantize", {bytes({2, 64}, Dtype::i8), floats({2, 2})}, wide});
  out.push_back({"prims.dequantize", {bytes({2, 3, 16}, Dtype::u8), floats({2, 3, 1})}, wide});
  out.push_back({"prims.dequantize", {bytes({2, 32}, Dtype::u8), floats({2, 2}), floats({2, 2})}, wide});
  out.push_back({"prims.linear_of_codes", {floats({2, 32}), bytes({3, 32}, Dtype::i8), floats({3, 1})}});
  out.push_back(
      {"prims.linear_of_codes", {floats({2, 1, 64}), bytes({3, 32}, Dtype::u8), floats({3, 2}), Value(), floats({3})}});
  out.push_back({"prims.linear_of_codes", {floats({32}), bytes({3, 16}, Dtype::u8), floats({3, 1}), floats({3, 1})}});
}

}  // namespace

void add_linalg_cases(std::vector<OperatorCase>& out) {
  add_code_cases(out);
  for (const char* op : {"prims.solve", "torch.linalg.solve"}) {
    out.push_back({op, {regular({3, 3}), floats({3, 2})}});
    out.push_back({op, {regular({2, 2, 2}), floats({2, 2, 3})}});
  }
  out.push_back({"torch.linalg.solve", {regular({2, 3, 3}), floats({2, 3})}});
  out.push_back({"torch.linalg.solve", {regular({3, 3}), floats({2, 2, 3})}, {{"left", false}}});
  for (const bool upper : {false, true}) {
    out.push_back({"prims.solve_triangular", {regular({3, 3}), floats({3, 2}), upper, !upper}});
    out.push_back({"prims.solve_triangular", {regular({2, 2, 2}), floats({2, 2, 3}), upper, upper}});
    out.push_back({"torch.linalg.solve_triangular", {regular({3, 3}), floats({2, 3, 2})}, {{"upper", upper}}});
  }
  out.push_back(
      {"torch.linalg.solve_triangular", {regular({2, 2}), floats({3, 2})}, {{"upper", true}, {"left", false}}});
  out.push_back(OperatorCase("torch.linalg.det", {regular({3, 3})}).without_mutants());
  out.push_back(OperatorCase("torch.linalg.det", {regular({2, 2, 2})}).without_mutants());
  for (const char* op : {"torch.linalg.slogdet", "torch.linalg.inv"}) {
    out.push_back({op, {regular({3, 3})}});
    out.push_back({op, {regular({2, 2, 2})}});
  }
  // The gradients of these two are symmetric though a triangle is read: PyTorch's.
  const std::vector<double> positive{4, 1, 0.5, 1, 3, -0.5, 0.5, -0.5, 2};
  const std::vector<double> gradient{0.2105572684, 0.1043825209, 0.1067768107, 0.1043825209, 0.3893108982,
                                     0.386318036,  0.1067768107, 0.386318036,  0.3731494424};
  for (const char* op : {"prims.cholesky", "torch.linalg.cholesky"})
    out.push_back(OperatorCase(op, {matrix(positive, 3)}).with_gradients({gradient}));
  for (const char* op : {"prims.eigh", "torch.linalg.eigh"})
    out.push_back(OperatorCase(op, {matrix({1, 0, 0, 0, 2, 0, 0, 0, 4}, 3)})
                      .with_gradients({{1, 0, 0, 0, 1, 0, 0, 0, 1}})
                      .without_mutants());
  out.push_back({"prims.qr", {floats({4, 3}), false}});
  out.push_back({"prims.qr", {regular({3, 3}), true}});
  out.push_back({"torch.linalg.qr", {floats({2, 2, 3})}});
  // The signs of singular vectors are not PyTorch's.
  out.push_back(OperatorCase("prims.svd", {floats({4, 3}), false}).without_pytorch());
  out.push_back(OperatorCase("prims.svd", {floats({2, 3}), false}).without_pytorch().without_mutants());
  out.push_back(OperatorCase("torch.linalg.svd", {regular({3, 3})}).without_pytorch());
  out.push_back({"torch.linalg.pinv", {floats({4, 3})}});
  out.push_back({"torch.linalg.pinv", {floats({2, 2, 3})}, {{"rtol", 1e-3}}});
}

}  // namespace fulgurite::test
