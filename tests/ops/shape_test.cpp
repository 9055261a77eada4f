#include <fulgurite/fulgurite.h>

#include "ops/shape/shape_rules.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

Tensor counted(const Shape& shape) { return arange(0, shape.numel()).reshape(shape); }

Sizes strides_of(const Tensor& x) { return x.impl()->strides; }

}  // namespace

TEST("reshape fills in -1 and says which shapes do not fit") {
  const Tensor x = counted({2, 6});
  expect_equal(x.reshape({3, -1}).shape(), Shape{3, 4});
  expect_equal(zeros({0, 3}).reshape({-1, 3}).shape(), Shape{0, 3});
  expect_error([&] { x.reshape({5, -1}); }, "reshape(cpu i64[2, 6]");
  expect_error([&] { x.reshape({5, -1}); }, "12 elements cannot be divided by 5");
  expect_error([&] { x.reshape({-1, -1}); }, "only one size may be -1");
  expect_error([&] { x.reshape({5}); }, "the numbers of elements differ");
  expect_error([&] { zeros({0}).reshape({0, -1}); }, "could be anything");
}

TEST("reshape is a view where strides allow, else a copy") {
  const Tensor x = counted({2, 3, 4});
  const Tensor split_last = x.transpose(0, 1).reshape({3, 2, 2, 2});
  expect_equal(split_last.impl()->storage, x.impl()->storage);
  const Tensor joined = x.transpose(0, 1).reshape({6, 4});
  expect(!(joined.impl()->storage == x.impl()->storage));
  expect_equal(joined.select(0, 1).to_vector<int64_t>(), std::vector<int64_t>{12, 13, 14, 15});
  expect_error([&] { x.transpose(0, 1).view({24}); }, "use reshape");
  expect_equal(x.view({6, -1}).shape(), Shape{6, 4});
}

TEST("reshape's strides follow blocks of dimensions without gaps") {
  Sizes strides;
  expect(reshape_strides({2, 3, 4}, {12, 4, 1}, {6, 4}, strides));
  expect_equal(strides, Sizes{4, 1});
  expect(reshape_strides({4, 3}, {1, 4}, {2, 2, 3}, strides));
  expect_equal(strides, Sizes{2, 1, 4});
  expect(!reshape_strides({4, 3}, {1, 4}, {12}, strides));
  expect(reshape_strides({3, 1}, {2, 7}, {1, 3, 1}, strides));
}

TEST("views share storage and have PyTorch's sizes") {
  const Tensor x = counted({2, 3, 4});
  expect_equal(permute(x, {2, 0, -2}).shape(), Shape{4, 2, 3});
  expect_equal(strides_of(permute(x, {2, 0, 1})), Sizes{1, 12, 4});
  expect_equal(transpose(x, 0, -1).shape(), Shape{4, 3, 2});
  expect_equal(x.select(1, -1).to_vector<int64_t>(), std::vector<int64_t>{8, 9, 10, 11, 20, 21, 22, 23});
  expect_equal(x.narrow(2, 1, 2).select(0, 0).to_vector<int64_t>(), std::vector<int64_t>{1, 2, 5, 6, 9, 10});
  expect_equal(x.unsqueeze(-1).shape(), Shape{2, 3, 4, 1});
  expect_equal(squeeze(x.unsqueeze(1).unsqueeze(0)).shape(), Shape{2, 3, 4});
  expect_equal(squeeze(x.unsqueeze(1).unsqueeze(0), 0).shape(), Shape{2, 1, 3, 4});
  expect_equal(x.select(0, 0).unsqueeze(0).expand({5, -1, -1}).shape(), Shape{5, 3, 4});
  expect_equal(x.flatten(1).shape(), Shape{2, 12});
  expect_equal(unflatten(x, 2, {2, -1}).shape(), Shape{2, 3, 2, 2});
  expect_equal(movedim(x, 0, 2).shape(), Shape{3, 4, 2});
  expect_equal(x.flatten().unsqueeze(0).t().shape(), Shape{24, 1});
  expect_equal(x.contiguous().impl()->storage, x.impl()->storage);
  expect(x.transpose(0, 1).contiguous().is_contiguous());
}

TEST("views refuse what does not fit, and say why") {
  const Tensor x = counted({2, 3});
  expect_error([&] { permute(x, {0, 0}); }, "dimension 0 appears twice");
  expect_error([&] { permute(x, {0}); }, "must name each of the 2 dimensions");
  expect_error([&] { x.expand({4, 3}); }, "a tensor of shape [2, 3] cannot be expanded to [4, 3]");
  expect_error([&] { x.select(0, 2); }, "index 2 is out of range for a dimension of size 2");
  expect_error([&] { x.narrow(1, 2, 2); }, "start 2 with length 2 exceeds the dimension's size 3");
}

TEST("split, chunk and unbind cut along a dimension") {
  const Tensor x = arange(0, 7);
  const auto halves = split(x, 3);
  expect_equal(halves.size(), 3u);
  expect_equal(halves[2].to_vector<int64_t>(), std::vector<int64_t>{6});
  expect_equal(split(x, {2, 5})[1].shape(), Shape{5});
  expect_error([&] { split(x, {2, 4}); }, "add up to 6, the dimension has size 7");
  expect_equal(chunk(x, 3).size(), 3u);
  expect_equal(chunk(x, 5).size(), 4u);
  expect_equal(unbind(counted({2, 3}), 1).size(), 3u);
}

TEST("cat joins, promotes and passes over empty vectors") {
  const Tensor x = counted({2, 2});
  expect_equal(cat({x, x.select(0, 0).unsqueeze(0)}).to_vector<int64_t>(), std::vector<int64_t>{0, 1, 2, 3, 0, 1});
  expect_equal(cat({x, ones({2, 1})}, 1).dtype(), Dtype::f32);
  expect_equal(cat({zeros({0}), ones({2, 1})}, 1).shape(), Shape{2, 1});
  expect_equal(stack({x, x}, -1).shape(), Shape{2, 2, 2});
  expect_error([&] { cat({x, counted({3, 3})}); }, "sizes differ in dimension 1: [2, 2] and [3, 3]");
}

TEST("pad adds and cuts in every mode") {
  const Tensor x = arange(0, 4, 1, {.dtype = Dtype::f32}).unsqueeze(0);
  expect_equal(nn::pad(x, {1, 2}).to_vector<float>(), std::vector<float>{0, 0, 1, 2, 3, 0, 0});
  expect_equal(nn::pad(x, {-1, 1}, "constant", 5.0).to_vector<float>(), std::vector<float>{1, 2, 3, 5});
  expect_equal(nn::pad(x, {2, 1}, "reflect").to_vector<float>(), std::vector<float>{2, 1, 0, 1, 2, 3, 2});
  expect_equal(nn::pad(x, {2, 1}, "replicate").to_vector<float>(), std::vector<float>{0, 0, 0, 1, 2, 3, 3});
  expect_equal(nn::pad(x, {1, 1}, "circular").to_vector<float>(), std::vector<float>{3, 0, 1, 2, 3, 0});
  expect_error([&] { nn::pad(x, {1, 1}, "mirror"); }, "mode must be");
}

TEST("tril and triu keep a triangle") {
  const Tensor x = ones({2, 3}, {.dtype = Dtype::i64});
  expect_equal(tril(x).to_vector<int64_t>(), std::vector<int64_t>{1, 0, 0, 1, 1, 0});
  expect_equal(triu(x, 1).to_vector<int64_t>(), std::vector<int64_t>{0, 1, 1, 0, 0, 1});
  expect_equal(tril(ones({2, 2}, {.dtype = Dtype::boolean})).dtype(), Dtype::boolean);
}

TEST("an empty dimension is unbound into no tensors") {
  expect(unbind(zeros({0, 3}), 0).empty());
  expect(jit([](Tensor x) { return unbind(x, 0); })(zeros({0, 3}).requires_grad_()).empty());
}
