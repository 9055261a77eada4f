// In-place operators in eager mode.
#include <fulgurite/fulgurite.h>

#include "support/test.h"
#include "tensor/tensor_impl.h"

using namespace fulgurite;
using namespace fulgurite::test;

TEST("in-place operators write into the tensor and advance its version") {
  const Tensor x = tensor({1.0, 2.0});
  const Tensor same = x;
  const uint32_t before = x.impl()->storage->version;
  x.add_(1).mul_(2);
  expect_near(same.to_vector<float>(), {4, 6});
  expect_greater(x.impl()->storage->version, before);
  Tensor y = x;
  y += 1;
  y /= 2;
  expect_near(x.to_vector<float>(), {2.5, 3.5});
  x.fill_(3);
  x.copy_(tensor(7));
  expect_near(x.to_vector<float>(), {7, 7});
  x.zero_();
  expect_near(x.to_vector<float>(), {0, 0});
}

TEST("inplace=true writes into the tensor and gives it back") {
  const Tensor x = tensor({-2.0, 0.5});
  expect(nn::hardtanh(x, -1.0, 1.0, true).is_same(x));
  expect_near(x.to_vector<float>(), {-1, 0.5});
  const Tensor same = call("nn.functional.leaky_relu", {x}, {{"inplace", true}, {"negative_slope", 0.5}});
  expect(same.is_same(x));
  expect_near(x.to_vector<float>(), {-0.5, 0.5});
  const Tensor leaf = tensor({-2.0, 0.5}).requires_grad_();
  const auto f = [](Tensor t) {
    const Tensor doubled = t * 2;
    nn::leaky_relu(doubled, 0.25, true);
    return sum(doubled * doubled);
  };
  f(leaf).backward();
  expect_near(leaf.grad().to_vector<float>(), {-1, 4});
  leaf.set_grad({});
  jit(f)(leaf).backward();
  expect_near(leaf.grad().to_vector<float>(), {-1, 4});
}

TEST("in-place operators write through views") {
  const Tensor x = zeros({2, 3});
  x.select(0, 1).add_(5);
  expect_near(x.to_vector<float>(), {0, 0, 0, 5, 5, 5});
  x(0, Slice(1, 3)) = 2;
  expect_near(x.to_vector<float>(), {0, 2, 2, 5, 5, 5});
}

TEST("the value is converted to the tensor's dtype, but not from floating to integer") {
  const Tensor integers = tensor({1, 2});
  integers.add_(tensor({1, 1}).to(Dtype::i32));
  expect_equal(integers.to_vector<int64_t>(), std::vector<int64_t>{2, 3});
  expect_error([&] { integers.mul_(0.5); }, "mul_: the result is f32 and cannot be stored in cpu i64[2]");
}

TEST("a result that does not fit is refused") {
  const Tensor x = zeros({2});
  expect_error([&] { x.add_(zeros({3, 2})); }, "add_: the value has shape [3, 2], which does not fit into cpu f32[2]");
}

TEST("a leaf that requires grad is not written in place") {
  const Tensor x = zeros({2}).requires_grad_();
  expect_error([&] { x.add_(1); }, "a leaf tensor that requires grad is written in place: add_");
}

TEST("operators that write at indices have in-place forms, eagerly and jitted") {
  const auto program = [](Tensor given) {
    Tensor x = given.clone(), places = tensor({0, 2});
    x.index_put_({places}, tensor({10.0, 20.0}));
    x.index_add_(0, places, tensor({1.0, 2.0}));
    x.scatter_(0, tensor({1}), -3);
    x.index_fill_(0, tensor({3}), 4);
    x.cumsum_(0);
    return x;
  };
  const Tensor x = zeros({4});
  expect_near(program(x).to_vector<float>(), {11, 8, 30, 34});
  expect_near(jit(program)(x).to_vector<float>(), {11, 8, 30, 34});
  expect_near(x.to_vector<float>(), {0, 0, 0, 0});
}

TEST("an in-place form by name writes into the tensor") {
  const Tensor x = ones({2, 2});
  const Tensor given = Tensor(call("torch.tril_", {x}));
  expect(given.is_same(x));
  expect_near(x.to_vector<float>(), {1, 0, 1, 1});
}

TEST("gradients pass through values that are written in place") {
  const auto program = [](Tensor x, Tensor values) {
    const Tensor y = x * 1;
    y.index_put_({tensor({1})}, values, true);
    return sum(y * y);
  };
  const Tensor x = tensor({1.0, 2.0, 3.0}).requires_grad_(), values = tensor({5.0}).requires_grad_();
  program(x, values).backward();
  expect_near(x.grad().to_vector<float>(), {2, 14, 6});
  expect_near(values.grad().to_vector<float>(), {14});
  expect_near(grad(program)(x.detach(), values.detach()).to_vector<float>(), {2, 14, 6});
}

TEST("a value is assigned through slices and integers, eagerly and jitted") {
  const auto program = [](Tensor given) {
    Tensor x = given.clone();
    x(0) = 5;
    x(1, Slice(1, 3)) = tensor({7.0, 8.0});
    x(Slice(), 0) = x(Slice(), 2);
    return x;
  };
  const Tensor x = zeros({2, 3});
  expect_near(program(x).to_vector<float>(), {5, 5, 5, 8, 7, 8});
  expect_near(jit(program)(x).to_vector<float>(), {5, 5, 5, 8, 7, 8});
  const auto into_argument = [](Tensor x) { x(1, 2) = 9; };
  jit(into_argument)(x);
  expect_near(x.to_vector<float>(), {0, 0, 0, 0, 0, 9});
}

TEST("an assignment to the result of an operator is refused, eagerly and jitted") {
  const auto program = [](Tensor x) { (x + 1) = 5; };
  const char* const message =
      "x(…) = value writes into a copy that is dropped: the left side is the result of an operator, not an index of "
      "a tensor";
  expect_error([&] { program(zeros({2, 3})); }, message);
  expect_error([&] { jit(program)(zeros({2, 3})); }, message);
}
