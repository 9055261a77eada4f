// Writes through views in which one element of memory has several indices.
#include <functional>
#include <utility>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

constexpr const char* overlap =
    "more than one element of the tensor that is written refers to a single place in memory; clone() it first";

Tensor base() { return tensor({1.0, -2.0, 3.0}) * 1.0; }

}  // namespace

TEST("repeated elements of an expanded tensor are not written by any operator") {
  const std::vector<std::function<void(const Tensor&)>> writes = {
      [](const Tensor& x) { x.mul_(3.0); },
      [](const Tensor& x) {
        x.add_(ones({2, 3}));
      },
      [](const Tensor& x) {
        x.copy_(ones({2, 3}));
      },
      [](const Tensor& x) { x.copy_(ones({3})); },
      [](const Tensor& x) { x.abs_(); },
      [](const Tensor& x) { x.clamp_(0.0, 1.0); },
      [](const Tensor& x) { x.cumsum_(0); },
      [](const Tensor& x) { x.sin_(); },
      [](const Tensor& x) { x.masked_fill_(x > 0, 1.0); },
      [](const Tensor& x) {
        x.index_add_(0, tensor({0}), ones({1, 3}));
      },
      [](const Tensor& x) {
        x(Slice(), 0) = tensor({1.0, 2.0});
      },
      [](const Tensor& x) { nn::celu(x, 1.0, true); },
  };
  for (const bool has_history : {false, true}) {
    const Tensor leaf = base().detach().requires_grad_(has_history);
    for (size_t i = 0; i < writes.size(); ++i) {
      const Tensor whole = leaf * 1.0;
      const Tensor rows = whole.unsqueeze(0).expand({2, 3});
      expect_error([&] { writes[i](rows); }, overlap);
      expect_near(whole.detach().to_vector<float>(), {1, -2, 3}, 0);
    }
  }
}

TEST("one number, or one row, is written into an expanded tensor") {
  const Tensor leaf = base().detach().requires_grad_();
  const Tensor whole = leaf * 2.0;
  const Tensor rows = whole.unsqueeze(0).expand({2, 3});
  rows(0).mul_(3.0);
  expect_near(whole.detach().to_vector<float>(), {6, -12, 18}, 0);
  rows(Slice(), 1) = 5.0;
  expect_near(rows(1).detach().to_vector<float>(), {6, 5, 18}, 0);
  sum(rows).backward();
  expect_near(leaf.grad().to_vector<float>(), {12, 0, 12}, 0);
  rows.fill_(4.0);
  expect_near(whole.detach().to_vector<float>(), {4, 4, 4}, 0);
  rows.zero_();
  expect_near(whole.detach().to_vector<float>(), {0, 0, 0}, 0);
}

TEST("windows that overlap are written where writing twice is as good as once, and the gradient counts once") {
  const auto gradient_after = [](const std::function<void(const Tensor&)>& write) {
    const Tensor x = tensor({1.0, -2.0, 3.0}).requires_grad_();
    const Tensor t = x + x;
    write(t.unfold(0, 2, 1));
    sum(t * t).backward();
    return x.grad().to_vector<float>();
  };
  expect_near(gradient_after([](const Tensor& windows) { windows.abs_(); }), {8, -16, 24}, 0);
  expect_near(gradient_after([](const Tensor& windows) { windows.clamp_(-3.0, 5.0); }), {8, 0, 0}, 0);
  expect_near(gradient_after([](const Tensor& windows) { windows.copy_(zeros({2, 2})); }), {0, 0, 0}, 0);
  expect_error([&] { gradient_after([](const Tensor& windows) { windows.mul_(3.0); }); }, overlap);
  expect_error([&] { gradient_after([](const Tensor& windows) { windows.cumsum_(1); }); }, overlap);
  expect_error([&] { gradient_after([](const Tensor& windows) {
                       windows.copy_(tensor({{1.0, 2.0}, {3.0, 4.0}}));
                     }); },
               overlap);
}

TEST("a write into overlapping windows has the gradient of the elements that it left") {
  const auto gradient = [](bool is_captured) {
    const Tensor w = tensor({5.0, 6.0, 7.0}).requires_grad_();
    const Tensor t = zeros({3}) * 1.0;
    t.unfold(0, 2, 1).copy_(w.unfold(0, 2, 1));
    const Tensor loss = sum(t * tensor({1.0, 10.0, 100.0}));
    if (is_captured) {
      const auto scope = compiled_autograd::enable();
      loss.backward();
    } else {
      loss.backward();
    }
    return w.grad().to_vector<float>();
  };
  expect_near(gradient(false), {1, 10, 100}, 0);
  expect_near(gradient(true), {1, 10, 100}, 0);
}

TEST("windows that do not overlap, and other strides that reach each element once, are written") {
  const Tensor leaf = tensor({1.0, 2.0, 3.0, 4.0}).requires_grad_();
  const Tensor t = leaf * 1.0;
  t.unfold(0, 2, 2).mul_(tensor({{1.0, 2.0}, {3.0, 4.0}}));
  expect_near(t.detach().to_vector<float>(), {1, 4, 9, 16}, 0);
  sum(t).backward();
  expect_near(leaf.grad().to_vector<float>(), {1, 2, 3, 4}, 0);
}

TEST("a list of views sees the history that their base was given since") {
  const Tensor w = tensor({1.0, 2.0}).requires_grad_();
  const Tensor t = zeros({2});
  const Tensor v = t.view({1, 2});
  t.add_(w);
  sum(cat({v, v}, 0)).backward();
  expect_near(w.grad().to_vector<float>(), {2, 2}, 0);
}

TEST("a copy of a view has the history that its base was given since") {
  const Tensor w = tensor({1.0, 2.0}).requires_grad_(), v = tensor({3.0, 4.0}).requires_grad_();
  const Tensor h = v * 1.0;
  const Tensor before = h(Slice(0, 1)), target = zeros({1});
  h.copy_(w);
  target.copy_(before);
  sum(target * 5.0).backward();
  expect_near(w.grad().to_vector<float>(), {5, 0}, 0);
  expect(!v.grad().defined() || v.grad().sum().item<double>() == 0);
}

TEST("a view of a transposed tensor, or of a part of one, is written") {
  for (const bool is_part : {false, true}) {
    const Tensor w = tensor({2.0, 3.0}).requires_grad_();
    const Tensor memory = reshape(arange(12).to(Dtype::f32), {3, 4});
    const Tensor base =
        is_part ? memory(Slice(), Slice(1, 4, 2)).detach() : memory.t().detach()(Slice(0, 3), Slice(0, 2)).detach();
    base(1).mul_(w);
    sum(base * base).backward();
    const std::vector<float> factors = is_part ? std::vector<float>{5, 7} : std::vector<float>{1, 5};
    expect_near(w.grad().to_vector<float>(), {2 * 2 * factors[0] * factors[0], 2 * 3 * factors[1] * factors[1]}, 1e-5);
  }
}
