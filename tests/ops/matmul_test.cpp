#include <fulgurite/fulgurite.h>

#include "support/programs/record.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

TEST("matmul has PyTorch's shapes for every rank") {
  const auto shape = [](const Shape& a, const Shape& b) { return matmul(ones(a), ones(b)).shape(); };
  expect_equal(shape({3}, {3}), Shape{});
  expect_equal(shape({3}, {3, 4}), Shape{4});
  expect_equal(shape({2, 3}, {3}), Shape{2});
  expect_equal(shape({5, 1, 2, 3}, {6, 3, 4}), Shape{5, 6, 2, 4});
  expect_equal(shape({3}, {5, 3, 4}), Shape{5, 4});
  expect_error([&] { shape({2, 3}, {4, 5}); }, "matmul(cpu f32[2, 3], cpu f32[4, 5]): inner sizes differ: 3 and 4");
  expect_error([&] { matmul(ones({2, 2}), ones({2, 2}, {.dtype = Dtype::f64})); }, "dtypes differ: f32 and f64");
}

TEST("the other matrix products are decomposed to matmul") {
  const Tensor a = tensor({{1.0, 2.0}, {3.0, 4.0}}), v = tensor({1.0, -1.0});
  expect_near(mm(a, a).to_vector<float>(), {7, 10, 15, 22});
  expect_near(mv(a, v).to_vector<float>(), {-1, -1});
  expect_near(dot(v, v).item<double>(), 2);
  expect_near(outer(v, v).to_vector<float>(), {1, -1, -1, 1});
  expect_near(addmm(v, a, a, 2, 0.5).to_vector<float>(), {5.5, 3, 9.5, 9});
  expect_near(bmm(a.unsqueeze(0), a.unsqueeze(0)).to_vector<float>(), {7, 10, 15, 22});
  expect_error([&] { mm(a, v); }, "mat2 must have 2 dimensions, got 1");
}

TEST("linear multiplies with the transposed weight") {
  const Tensor x = tensor({{1.0, 2.0}}), w = tensor({{1.0, 0.0}, {0.0, 1.0}, {1.0, 1.0}}), b = tensor({0.5, 0.5, 0.5});
  expect_near(nn::linear(x, w, b).to_vector<float>(), {1.5, 2.5, 3.5});
  expect_equal(nn::linear(ones({4, 5, 2}), w).shape(), Shape{4, 5, 3});
  expect_equal(nn::linear(x, w.select(0, 0)).shape(), Shape{1});
  expect_error([&] { nn::linear(ones({2, 3}), w); }, "input has 3 features, weight takes 2");
}

TEST("the backward of linear is two reshapes, a permute and a matmul if only the weight needs it") {
  const Trace trace = record({f32({10, 100}), parameter({10, 100})}, [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{nn::linear(in[0], in[1])};
  });
  expect_python(forward_and_backward_from_trace(trace).backward, R"PY(
import torch

@torch.no_grad()
def backward_fn(saved_for_backward, cotangents):
  # saved_for_backward: "Collection"
  # cotangents: "Collection"
  C0, \
  _, \
  = saved_for_backward
  t1, \
  = cotangents
  t_0, \
  = C0
  t2 = torch.reshape(t1, (-1, 10))  # t2: "cpu f32[10, 10]"
  t3 = torch.permute(t2, (1, 0))  # t3: "cpu f32[10, 10]"
  t4 = torch.reshape(t_0, (-1, 100))  # t4: "cpu f32[10, 100]"
  t5 = torch.matmul(t3, t4)  # t5: "cpu f32[10, 100]"
  return (None, t5)
)PY");
}
