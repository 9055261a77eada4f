#include <fulgurite/fulgurite.h>

#include "support/programs/record.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

Tensor counted(const Shape& shape) { return arange(0, shape.numel()).reshape(shape); }
std::vector<int64_t> values(const Tensor& x) { return x.to_vector<int64_t>(); }

}  // namespace

TEST("indexes are integers, slices, Ellipsis and None") {
  const Tensor x = counted({2, 3, 4});
  expect_equal(values(x(1, -1)), std::vector<int64_t>{20, 21, 22, 23});
  expect_equal(values(x(0, Slice(1, {}), 2)), std::vector<int64_t>{6, 10});
  expect_equal(values(x(Ellipsis, 0)), std::vector<int64_t>{0, 4, 8, 12, 16, 20});
  expect_equal(x(None, 0, None).shape(), Shape{1, 1, 3, 4});
  expect_equal(values(x(0, 0, Slice({}, {}, 3))), std::vector<int64_t>{0, 3});
  expect_equal(values(x[1](2)), std::vector<int64_t>{20, 21, 22, 23});
  expect_equal(x(0).impl()->storage, x.impl()->storage);
  expect_error([&] { x(0, 0, 0, 0); }, "too many indexes: 4 for a tensor of 3 dimensions");
  expect_error([&] { x(Ellipsis, Ellipsis); }, "at most one Ellipsis");
  expect_error([&] { x(2); }, "index 2 is out of range");
}

TEST("tensors and lists as indexes broadcast together") {
  const Tensor x = counted({3, 4});
  const Tensor rows = tensor({2, 0});
  expect_equal(values(x(rows)), std::vector<int64_t>{8, 9, 10, 11, 0, 1, 2, 3});
  expect_equal(values(x(rows, rows)), std::vector<int64_t>{10, 0});
  expect_equal(values(x({2, 0}, 1)), std::vector<int64_t>{9, 1});
  expect_equal(values(x(Slice(), {3, 3})), std::vector<int64_t>{3, 3, 7, 7, 11, 11});
  const Tensor y = counted({2, 3, 4});
  expect_equal(y({0, 1}, Slice(), {1, 2}).shape(), Shape{2, 3});
  expect_equal(y(Slice(), {0, 1}, {1, 2}).shape(), Shape{2, 2});
  expect_equal(y(Slice(), tensor({{0, 1}, {1, 2}})).shape(), Shape{2, 2, 2, 4});
}

TEST("masks choose elements in eager mode") {
  const Tensor x = counted({2, 3});
  expect_equal(values(x(x > 2)), std::vector<int64_t>{3, 4, 5});
  expect_equal(values(x(tensor({false, true}))), std::vector<int64_t>{3, 4, 5});
  expect_equal(values(x(Slice(), tensor({true, false, true}))), std::vector<int64_t>{0, 2, 3, 5});
  expect_error([&] { x(tensor({true, false, true})); }, "the mask's shape [3] does not match the indexed shape [2, 3]");
}

TEST("assigning to an index writes into the view") {
  Tensor x = zeros({2, 3}, {.dtype = Dtype::i64});
  x(0, Slice(1, {})) = 7;
  x(1) = tensor({1, 2, 3});
  expect_equal(values(x), std::vector<int64_t>{0, 7, 7, 1, 2, 3});
  x({0, 1}, 0) = 5;
  expect_equal(values(x), std::vector<int64_t>{5, 7, 7, 5, 2, 3});
}

TEST("a traced index prints as Python writes it") {
  const Trace trace = record({f32({2, 3, 4})}, [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{in[0](0, Ellipsis, Slice(1, 3))};
  });
  expect_python(trace, R"(
import torch

@torch.no_grad()
def computation(t_0):
  # t_0: "cpu f32[2, 3, 4]"
  t1 = t_0[0, ..., 1:3]  # t1: "cpu f32[3, 2]"
    # t0 = prims.select(t_0, 0, 0)  # t0: "cpu f32[3, 4]"
    # t1 = prims.slice(t0, 1, 1, 3)  # t1: "cpu f32[3, 2]"
  return t1
)");
}

TEST("indexes of gather, scatter, index_select and embedding do not count from the end") {
  const Tensor x = counted({3}), last = tensor({-1});
  for (const auto& run : std::vector<std::function<Tensor()>>{
           [&] { return gather(x, 0, last); }, [&] { return scatter(x, 0, last, 9); },
           [&] { return scatter_add(x, 0, last, last); }, [&] { return scatter_reduce(x, 0, last, last, "amax"); },
           [&] { return index_select(x, 0, last); },
           [&] {
             return nn::embedding(last, reshape(x, {3, 1}));
           }})
    expect_error(run, "an index tensor holds -1, which is out of range for a dimension of size 3");
}

TEST("gather, scatter and index_select read and write at indices") {
  const Tensor x = counted({2, 3});
  const Tensor places = tensor({{0, 2}, {1, 0}});
  expect_equal(values(gather(x, 1, places)), std::vector<int64_t>{0, 2, 4, 3});
  expect_equal(values(scatter(x, 1, places, 9)), std::vector<int64_t>{9, 1, 9, 9, 9, 5});
  expect_equal(values(scatter_add(x, 1, places, ones({2, 2}, {.dtype = Dtype::i64}))),
               std::vector<int64_t>{1, 1, 3, 4, 5, 5});
  expect_equal(values(index_select(x, 1, tensor({2, 0}))), std::vector<int64_t>{2, 0, 5, 3});
  expect_equal(values(index_put(x, {tensor({0, 0}), tensor({1, 1})}, tensor({5, 6}), true)),
               std::vector<int64_t>{0, 12, 2, 3, 4, 5});
  expect_error([&] { gather(x, 1, ones({2, 2})); }, "the index must be i64 or i32, got f32");
}

TEST("a value at repeated indices has the gradient of each index once") {
  const Tensor x = ones({4, 2}).requires_grad_(), value = tensor(2.0).requires_grad_();
  const Tensor y = index_fill(x, 0, tensor({1, -3, 3}), value);
  expect_equal(y.to_vector<float>(), std::vector<float>{1, 1, 2, 2, 1, 1, 2, 2});
  sum(y * arange(8.0).reshape({4, 2})).backward();
  expect_equal(value.grad().item<float>(), 2.f + 3 + 6 + 7);
  expect_equal(x.grad().to_vector<float>(), std::vector<float>{0, 1, 0, 0, 4, 5, 0, 0});
  const Tensor single = tensor(1.0);
  expect_equal(index_fill(single, 0, tensor({0}), value).item<float>(), 2.f);
}
