#include <fulgurite/autograd.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "support/test.h"

using namespace fulgurite;

namespace {
Tensor leaf(std::vector<float> values) { return tensor(values).requires_grad_(); }
std::vector<float> values(const Tensor& t) { return t.contiguous().to_vector<float>(); }
}  // namespace

TEST("a saved tensor that was written is an error") {
  const Tensor x = leaf({1, 2});
  const Tensor y = exp(x);
  y.add_(1);
  expect_error([&] { sum(y).backward(); },
               "a tensor needed for backward was changed in place: cpu f32[2], output 0 of ExpBackward0");
}

TEST("a leaf that requires grad is not written while recording") {
  const Tensor x = leaf({1});
  expect_error([&] { x.mul_(2); }, "leaf");
  const NoGrad no_grad;
  x.mul_(2);
  expect_near(values(x), {2});
}

TEST("an in-place operator gives the tensor a new history") {
  const Tensor x = leaf({1, 2});
  const Tensor y = x + 1;
  y.mul_(x);
  sum(y).backward();
  expect_near(values(x.grad()), {3, 5});  // (x + 1) x
}

TEST("elements overwritten by a value without history have a gradient of zeros, as in PyTorch") {
  const auto gradient_after = [](const auto& write) {
    const Tensor x = leaf({1, 2}), h = x * 2;
    write(h);
    sum(h + 3).backward();
    return values(x.grad());
  };
  expect_equal(gradient_after([](Tensor h) { h.zero_(); }), std::vector<float>{0, 0});
  expect_equal(gradient_after([](Tensor h) { h.fill_(3); }), std::vector<float>{0, 0});
  expect_equal(gradient_after([](Tensor h) { h.copy_(ones({2})); }), std::vector<float>{0, 0});
  expect_equal(gradient_after([](Tensor h) { h(Slice()) = 3.0; }), std::vector<float>{0, 0});
  expect_equal(gradient_after([](Tensor h) { h[0].zero_(); }), std::vector<float>{0, 1 * 2});
}

TEST("an old value that its own backward reads cannot be overwritten") {
  const Tensor x = leaf({1, 2}), y = exp(x);
  y.zero_();
  expect_error([&] { sum(y).backward(); },
               "a tensor needed for backward was changed in place: cpu f32[2], output 0 of ExpBackward0");
}

TEST("a tensor without history takes that of what is written into it") {
  const Tensor w = leaf({2, 3}), buffer = zeros({2});
  buffer.copy_(w * 2);
  expect(buffer.requires_grad());
  sum(buffer).backward();
  expect_near(values(w.grad()), {2, 2});
}

TEST("a write into a view reaches the gradient of the whole") {
  const Tensor w = leaf({5}), x = leaf({1, 2, 3});
  const Tensor y = x * 2;
  y(Slice(0, 1)) = w;
  sum(y * y).backward();
  expect_near(values(y), {5, 4, 6});
  expect_near(values(w.grad()), {10});
  expect_near(values(x.grad()), {0, 16, 24});
}

TEST("a write into a view can be differentiated twice") {
  const Tensor w = leaf({5});
  const Tensor y = zeros({3});
  y(Slice(1, 2)) = w * w;
  const Tensor first = autograd::grad(sum(y * y), w, {}, {.create_graph = true})[0];
  expect_near(values(first), {500});
  expect_near(values(autograd::grad(sum(first), w)[0]), {300});
}

TEST("a view made before a write has its part of the new history, also where it holds an element more than once") {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 2;
  const Tensor view = y(Slice(0, 1)), wide = expand(y, {3, 2}), windows = unfold(y, 0, 1, 1);
  y.mul_(x);
  (sum(view * 2) + sum(wide * wide) + sum(windows)).backward();
  // y = 2 x^2: 2 y of the first element, 3 y^2 and y of both.
  expect_near(values(x.grad()), {8 + 3 * 2 * 2 * 4 + 4, 3 * 2 * 8 * 8 + 8});
}

TEST("a view made before its base was given a history has its part of it") {
  const Tensor w = tensor(std::vector<float>{2, 3, 4}).requires_grad_();
  const Tensor base = ones({3});
  const Tensor view = base(Slice(0, 2)), other = base(Slice(1, 3)), detached = base.detach()(Slice(0, 2));
  expect(!view.requires_grad() && view.is_leaf(), "nothing has a history yet");
  other.mul_(w(Slice(0, 2)));
  expect(base.requires_grad() && view.requires_grad() && !view.is_leaf(), "the base was written through another view");
  expect(!detached.requires_grad() && detached.is_leaf(), "what was detached has none");
  view.register_hook([](Tensor gradient) { return gradient * 10; });
  sum(view * 5).backward();
  expect_near(w.grad().to_vector<float>(), {50, 0, 0});
  expect_equal(view.grad_fn()->name(), std::string("AsStridedBackward0"));
}
