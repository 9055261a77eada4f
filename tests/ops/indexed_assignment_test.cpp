// x(list), x(tensor) and x(mask) are copies; assignments to them write back into x.
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

// The function's values eagerly, jitted (three times: recorded, and from the cache), and written into an argument.
template <class F>
void expect_everywhere(F function, const Tensor& x, const std::vector<float>& wanted) {
  const auto of_copy = [function](Tensor given) {
    Tensor copy = given * 1.0;
    function(copy);
    return copy;
  };
  const Tensor eager = of_copy(x);
  expect_near(eager.to_vector<float>(), wanted);
  const auto jitted = jit(of_copy);
  for (int i = 0; i < 3; ++i) {
    const Tensor result = jitted(x);
    expect_near(result.to_vector<float>(), wanted);
  }
  Tensor written = x.clone();
  jit([function](Tensor given) { function(given); })(written);
  expect_near(written.to_vector<float>(), wanted);
}

}  // namespace

TEST("compound assignments through lists, tensors and masks write back") {
  const Tensor x = tensor({1.0, 2.0, 3.0});
  expect_everywhere([](Tensor& t) { t({0, 2}) += 10; }, x, {11, 2, 13});
  expect_everywhere([](Tensor& t) { t(tensor({1})) *= 5.0; }, x, {1, 10, 3});
  expect_everywhere([](Tensor& t) { t(t > 1.5) -= 1.0; }, x, {1, 1, 2});
  expect_everywhere([](Tensor& t) { t({0, 1}) /= tensor({2.0, 4.0}); }, x, {0.5, 0.5, 3});
  expect_everywhere([](Tensor& t) { t({1, 2}) %= 2.0; }, x, {1, 0, 1});
}

TEST("an element that is listed twice counts once, as in PyTorch") {
  expect_everywhere([](Tensor& t) { t({0, 0}) += 10; }, tensor({1.0, 2.0}), {11, 2});
  expect_everywhere([](Tensor& t) { t({1, 1}) = tensor({5.0, 7.0}); }, tensor({1.0, 2.0}), {1, 7});
}

TEST("values and numbers are assigned through lists, tensors and masks") {
  const Tensor x = tensor({1.0, -2.0, 3.0});
  expect_everywhere([](Tensor& t) { t({0, 2}) = 10; }, x, {10, -2, 10});
  expect_everywhere([](Tensor& t) { t(tensor({2, 0})) = tensor({4.0, 5.0}); }, x, {5, -2, 4});
  expect_everywhere([](Tensor& t) { t(t > 0) = 5; }, x, {5, -2, 5});
  expect_everywhere([](Tensor& t) { t(t > 0) = tensor({7.0, 8.0}); }, x, {7, -2, 8});
  expect_everywhere([](Tensor& t) { t(t > 0) = tensor(9); }, x, {9, -2, 9});  // an integer becomes f32
  expect_everywhere([](Tensor& t) { t(t > 100.0) = 5; }, x, {1, -2, 3});
}

TEST("lists and masks stand beside slices, integers and None") {
  const Tensor x = arange(6.0).reshape({2, 3});
  expect_everywhere([](Tensor& t) { t(1, {0, 2}) += 10; }, x, {0, 1, 2, 13, 4, 15});
  expect_everywhere([](Tensor& t) { t(Slice(), {0, 2}) = 9; }, x, {9, 1, 9, 9, 4, 9});
  expect_everywhere([](Tensor& t) { t(Slice(0, 1), tensor({1})) *= 5; }, x, {0, 5, 2, 3, 4, 5});
  expect_everywhere([](Tensor& t) { t(tensor({true, false})) = tensor({7.0, 8.0, 9.0}); }, x, {7, 8, 9, 3, 4, 5});
  expect_everywhere([](Tensor& t) { t(Slice(), tensor({true, false, true})) = 0; }, x, {0, 1, 0, 0, 4, 0});
  expect_everywhere([](Tensor& t) { t(None, tensor({1})) = 0; }, x, {0, 1, 2, 0, 0, 0});
  expect_everywhere([](Tensor& t) { t(Ellipsis, {1}) -= 1; }, x, {0, 0, 2, 3, 3, 5});
  expect_everywhere([](Tensor& t) { t({0, 1}, {2, 0}) = tensor({-1.0, -2.0}); }, x, {0, 1, -1, -2, 4, 5});
}

TEST("an index of what an index copied writes back through both") {
  const Tensor x = arange(6.0).reshape({2, 3});
  expect_everywhere([](Tensor& t) { t({0, 1})(1) = 9; }, x, {0, 1, 2, 9, 9, 9});
  expect_everywhere([](Tensor& t) { t({1, 0})(0, Slice(1, 3)) += 10; }, x, {0, 1, 2, 3, 14, 15});
  expect_everywhere([](Tensor& t) { t({1, 0})(tensor({0}))(0, 0) = 8; }, x, {0, 1, 2, 8, 4, 5});
}

TEST("gradients go through assignments to listed elements, to the tensor and to the value") {
  const auto program = [](Tensor given, Tensor value) {
    Tensor x = given * 2.0;
    x({0, 2}) = value;
    x(tensor({1})) *= 3.0;
    x(x > 50.0) = 0.0;
    return sum(x * x);
  };
  const Tensor x = tensor({1.0, 2.0, 100.0, 40.0}).requires_grad_(), value = tensor({5.0}).requires_grad_();
  program(x, value).backward();
  expect_near(x.grad().to_vector<float>(), {0, 144, 0, 0});
  expect_near(value.grad().to_vector<float>(), {20});
  x.set_grad({});
  value.set_grad({});
  jit(program)(x, value).backward();
  expect_near(x.grad().to_vector<float>(), {0, 144, 0, 0});
  expect_near(value.grad().to_vector<float>(), {20});
}

TEST("a leaf that requires grad is not written through a list") {
  Tensor leaf = ones({3}).requires_grad_();
  expect_error(
      [&] {
        leaf({0, 1}) = 0;
      },
      "a leaf tensor that requires grad is written in place: index_put_ on cpu f32[3]; wrap it in NoGrad, or write "
      "into a copy");
  const NoGrad no_grad;
  leaf({0, 1}) = 0;
  expect_near(leaf.to_vector<float>(), {0, 0, 1});
}

TEST("a copy that has a name is a tensor of its own") {
  Tensor x = tensor({1.0, 2.0});
  Tensor y = x({0, 1});
  y += 1;
  expect_near(x.to_vector<float>(), {1, 2});
  expect_near(y.to_vector<float>(), {2, 3});
}

TEST("values that do not fit, and types that do not hold them, are errors") {
  Tensor x = zeros({3}), n = tensor({1, 2});
  expect_error(
      [&] {
        x({0, 1}) = ones({3});
      },
      "index_put(cpu f32[3], [cpu i64[2]], cpu f32[3]): shapes [2] and [3] do not broadcast: sizes 2 and 3 differ");
  expect_error([&] { n({0}) += 0.5; },
               "add_: the result is f32 and cannot be stored in cpu i64[1]; convert the tensor first");
}

TEST("the operators & | ^ ~ and % work on tensors, with numbers on either side") {
  const Tensor a = tensor({true, true, false}), b = tensor({true, false, false}), n = tensor({5, -5, 6});
  expect_equal((a & b).to_vector<bool>(), std::vector<bool>{true, false, false});
  expect_equal((a | b).to_vector<bool>(), std::vector<bool>{true, true, false});
  expect_equal((a ^ b).to_vector<bool>(), std::vector<bool>{false, true, false});
  expect_equal((~a).to_vector<bool>(), std::vector<bool>{false, false, true});
  expect_equal((n & 3).to_vector<int64_t>(), std::vector<int64_t>{1, 3, 2});
  expect_equal((1 | n).to_vector<int64_t>(), std::vector<int64_t>{5, -5, 7});
  expect_equal((~n).to_vector<int64_t>(), std::vector<int64_t>{-6, 4, -7});
  expect_equal((n % 3).to_vector<int64_t>(), std::vector<int64_t>{2, 1, 0});
  expect_equal((7 % n).to_vector<int64_t>(), std::vector<int64_t>{2, -3, 1});
  expect_near((tensor({5.5, -5.5}) % 3.0).to_vector<float>(), {2.5, 0.5});
  Tensor bits = tensor({5, 6});
  bits &= 4;
  bits |= 1;
  bits ^= 2;
  expect_equal(bits.to_vector<int64_t>(), std::vector<int64_t>{7, 7});
  expect_near(
      jit([](Tensor x) { return (x > 1) & ~(x > 2); })(tensor({1.0, 2.0, 3.0})).to(Dtype::f32).to_vector<float>(),
      {0, 1, 0});
  expect_error([&] { static_cast<void>(!a); },
               "a condition on cpu bool[3] is ambiguous: use any() or all(), or ~, & and | for each element");
}

TEST("sizes are given one by one, too") {
  const Tensor x = arange(6.0);
  expect_equal(x.view(3, 2).sizes(), Shape{3, 2});
  expect_equal(x.reshape(2, 1, -1).shape(), Shape{2, 1, 3});
  expect_equal(x.view(3, 2).permute(1, 0).shape(), Shape{2, 3});
  expect_equal(permute(x.view(3, 2), 1, 0).shape(), Shape{2, 3});
  expect_equal(x.view(6, 1).expand(6, 4).shape(), Shape{6, 4});
  expect_equal(x.repeat(2, 2).shape(), Shape{2, 12});
  expect_equal(x.view(3, 2).flip(0, 1).to_vector<float>()[0], 5);
  expect_equal(x.dim(), 1);
  expect_equal(x.data_ptr<float>(), x.data<float>());
}
