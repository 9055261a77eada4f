#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

// Short programs of every day: each form of an index of PyTorch, read and written. Expected values are PyTorch's.

namespace {
std::vector<int64_t> integers(const Tensor& x) { return x.to(Dtype::i64).contiguous().to_vector<int64_t>(); }
Tensor grid() { return arange(12).reshape({3, 4}); }
using Integers = std::vector<int64_t>;
}  // namespace

TEST("everyday: numbers and negative numbers as indices") {
  const Tensor x = grid();
  expect_equal(integers(x(1)), Integers{4, 5, 6, 7});
  expect_equal(integers(x[1]), Integers{4, 5, 6, 7});
  expect_equal(x[1][2].item<int>(), 6);
  expect_equal(x(-1, -2).item<int>(), 10);
  const int i = 2;
  const int64_t j = 3;
  const size_t k = 1;
  expect_equal(x(i, j).item<int>(), 11);
  expect_equal(x(k, i).item<int>(), 6);
  expect_error([&] { x(3); }, "3");
  expect_error([&] { x(0, 0, 0); }, "");
}

TEST("everyday: slices as indices") {
  const Tensor x = grid();
  expect_equal(integers(x(Slice(1, 3))), Integers{4, 5, 6, 7, 8, 9, 10, 11});
  expect_equal(integers(x(Slice(), 1)), Integers{1, 5, 9});
  expect_equal(integers(x(Slice({}, {}, 2), Slice(1, {}, 2))), Integers{1, 3, 9, 11});
  expect_equal(integers(x(Slice(-2, {}), Slice({}, -3))), Integers{4, 8});
  expect_equal(x(Slice(5, 9)).shape(), Shape{0, 4});
  expect_equal(x(Slice(2, 1)).shape(), Shape{0, 4});
  expect_equal(integers(x(Slice({}, {}, -2), 0)), Integers{8, 0});
  expect_error([&] { x(Slice({}, {}, 0)); }, "step");
}

TEST("everyday: Ellipsis and None as indices") {
  const Tensor x = arange(24).reshape({2, 3, 4});
  expect_equal(integers(x(Ellipsis, 0)), Integers{0, 4, 8, 12, 16, 20});
  expect_equal(x(None).shape(), Shape{1, 2, 3, 4});
  expect_equal(x(Ellipsis, None).shape(), Shape{2, 3, 4, 1});
  expect_equal(x(0, Ellipsis, None, Slice(1, 3)).shape(), Shape{3, 1, 2});
  expect_equal(x(Slice(), newaxis, 1).shape(), Shape{2, 1, 4});
}

TEST("everyday: tensors, lists and masks as indices") {
  const Tensor x = grid();
  expect_equal(integers(x(tensor({2, 0}))), Integers{8, 9, 10, 11, 0, 1, 2, 3});
  expect_equal(integers(x({0, 2}, {1, 3})), Integers{1, 11});
  expect_equal(integers(x(Slice(), {3, 0})), Integers{3, 0, 7, 4, 11, 8});
  expect_equal(integers(x(x > 8)), Integers{9, 10, 11});
  expect_equal(integers(x(tensor({true, false, true}))), Integers{0, 1, 2, 3, 8, 9, 10, 11});
  expect_equal(integers(x(tensor({true, false, true}), 1)), Integers{1, 9});
  expect_equal(x(tensor({{0, 1}, {2, 0}})).shape(), Shape{2, 2, 4});
  expect_equal(integers(x(tensor({{0}, {2}}), tensor({1, 3}))), Integers{1, 3, 9, 11});
  expect_equal(integers(x(tensor({-1}), Slice(1, 3))), Integers{9, 10});
  expect_equal(integers(x({1, 2}, Slice(0, 2))), Integers{4, 5, 8, 9});
  const Tensor y = arange(24).reshape({2, 3, 4});
  expect_equal(y({0, 1}, Slice(), {0, 3}).shape(), Shape{2, 3});
  expect_equal(y(Slice(), {0, 1}, {0, 3}).shape(), Shape{2, 2});
  expect_equal(integers(y(0, {0, 2}, {1, 3})), Integers{1, 11});
  expect_equal(integers(y(Ellipsis, {0})), Integers{0, 4, 8, 12, 16, 20});
  const Tensor rows = tensor({1, 0});
  expect_equal(integers(x(arange(2), rows)), Integers{1, 4});
}

TEST("everyday: writing to numbers and slices") {
  Tensor x = grid();
  x(0, 0) = 100;
  x(1) = tensor({-1, -2, -3, -4});
  x(Slice(2, {}), Slice({}, {}, 2)) = 7;
  expect_equal(integers(x), Integers{100, 1, 2, 3, -1, -2, -3, -4, 7, 9, 7, 11});
  x[0] = 5;
  x[1][1] = 6;
  expect_equal(integers(x(Slice(0, 2))), Integers{5, 5, 5, 5, -1, 6, -3, -4});
  x(Ellipsis, -1) = 0;
  expect_equal(integers(x(Slice(), 3)), Integers{0, 0, 0});
  x(Slice(), 0) += 10;
  expect_equal(integers(x(Slice(), 0)), Integers{15, 9, 17});
  x(0) *= 2;
  expect_equal(integers(x(0)), Integers{30, 10, 10, 0});
  x(0) -= 1;
  expect_error([&] { x(0) /= tensor(2); }, "cannot be stored in cpu i64");
  expect_error([&] { x(0) = tensor({1, 2, 3}); }, "");
}

TEST("everyday: writing to masks, lists and tensors") {
  Tensor x = grid();
  x(x > 8) = 0;
  x({0, 1}, {0, 1}) = tensor({-5, -6});
  expect_equal(integers(x), Integers{-5, 1, 2, 3, 4, -6, 6, 7, 8, 0, 0, 0});
  x(tensor({2, 2})) += 1;  // once: an element indexed twice counts once
  expect_equal(integers(x(2)), Integers{9, 1, 1, 1});
  x(x < 0) *= 10;
  expect_equal(x(0, 0).item<int>(), -50);
  x(Slice(), {3}) = 1;
  expect_equal(integers(x(Slice(), 3)), Integers{1, 1, 1});
  x(tensor({true, false, false})) = 9;
  expect_equal(integers(x(0)), Integers{9, 9, 9, 9});
  x.index_put_({tensor({0}), tensor({1})}, tensor(77));
  expect_equal(x(0, 1).item<int>(), 77);
  x.index_fill_(1, tensor({0}), 3);
  expect_equal(integers(x(Slice(), 0)), Integers{3, 3, 3});
  x.masked_fill_(x == 3, 2);
  expect_equal(integers(x(Slice(), 0)), Integers{2, 2, 2});
}

TEST("everyday: swapping and shifting parts of a tensor") {
  Tensor x = arange(5);
  const Tensor first = x(0).clone();
  x(0) = x(4);
  x(4) = first;
  expect_equal(integers(x), Integers{4, 1, 2, 3, 0});
  x(Slice(1, {})) = x(Slice({}, -1)).clone();
  expect_equal(integers(x), Integers{4, 4, 1, 2, 3});
  expect_equal(integers(flip(x, {0})), Integers{3, 2, 1, 4, 4});
  expect_equal(integers(roll(x, 1)), Integers{3, 4, 4, 1, 2});
}

TEST("everyday: gather, scatter, take and select by name") {
  const Tensor x = grid();
  expect_equal(integers(gather(x, 1, tensor({{0}, {3}, {1}}))), Integers{0, 7, 9});
  expect_equal(integers(x.index_select(1, tensor({3, 0}))), Integers{3, 0, 7, 4, 11, 8});
  expect_equal(integers(take_along_dim(x, tensor({{1}, {0}, {2}}), 1)), Integers{1, 4, 10});
  expect_equal(integers(x.select(1, 2)), Integers{2, 6, 10});
  expect_equal(integers(x.narrow(0, 1, 1)), Integers{4, 5, 6, 7});
  const Tensor hot = zeros({3, 4}, {.dtype = Dtype::i64}).scatter_(1, tensor({{1}, {0}, {3}}), 1);
  expect_equal(integers(hot), Integers{0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1});
  expect_equal(integers(nn::one_hot(tensor({1, 0}), 3)), Integers{0, 1, 0, 1, 0, 0});
  expect_equal(integers(nonzero(x > 9)), Integers{2, 2, 2, 3});
  expect_equal(integers(where(x > 9)[1]), Integers{2, 3});
  expect_equal(integers(masked_select(x, x < 2)), Integers{0, 1});
  expect_equal(integers(diag(x(Slice(), Slice(0, 3)))), Integers{0, 5, 10});
}

TEST("everyday: gradients through reads and writes of parts") {
  Tensor x = ones({3}).requires_grad_();
  Tensor y = x * 2;
  y(0) = 0;
  y(tensor({false, true, false})) *= 3;
  sum(y * y).backward();
  expect_equal(x.grad().to_vector<float>(), std::vector<float>{0, 72, 8});
  Tensor w = arange(4, {.dtype = Dtype::f32}).requires_grad_();
  sum(w({1, 1, 3})).backward();
  expect_equal(w.grad().to_vector<float>(), std::vector<float>{0, 2, 0, 1});
}
