// Gradients beside floating tensors, of several results, and in bf16.
#include <array>
#include <cmath>
#include <tuple>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

namespace {

struct Batch {
  Tensor x, places, mask;
  int64_t count = 2;
};

Tensor loss_of(Batch batch) {
  const Tensor chosen = index_select(batch.x, 0, batch.places);
  const Tensor kept = where(batch.mask, chosen * chosen, 0.0);
  return kept.sum() * batch.count;
}

Batch make_batch() { return {tensor({1.0, 2.0, 3.0}), tensor({2, 0, 2}), tensor({true, true, false})}; }

Tensor bf16(std::vector<double> numbers) { return tensor(numbers).to(Dtype::bf16); }

/// The gradient of a sum of products with three factors, added from the first to the last.
double gradient_of_three_uses(const std::array<double, 3>& factors, bool is_compiled) {
  const auto f = [factors](Tensor x) {
    const Tensor first = x * factors[0];
    const Tensor second = x * factors[1];
    const Tensor third = x * factors[2];
    const Tensor sum_of_two = first + second;
    return (sum_of_two + third).sum();
  };
  const Tensor x = bf16({1}).requires_grad_();
  const Tensor y = is_compiled ? jit(f)(x) : f(x);
  y.backward();
  expect_equal(x.grad().dtype(), Dtype::bf16);
  return x.grad().item<double>();
}

}  // namespace

TEST("integer and boolean leaves of a structure come back as passed") {
  const Batch batch = make_batch();
  const std::vector<double> expected = {4, 0, 12};  // 2 * 2 x where chosen and kept
  for (const Batch& gradient : {grad(loss_of)(batch), jit(grad(loss_of))(batch)}) {
    expect_near(gradient.x.to_vector<float>(), expected);
    expect_equal(gradient.places.to_vector<int64_t>(), batch.places.to_vector<int64_t>());
    expect_equal(gradient.mask.dtype(), Dtype::boolean);
    expect_equal(gradient.count, 2);
  }
  const auto [loss, pullback] = vjp(loss_of, batch);
  const auto [cotangent] = pullback(ones_like(loss));
  expect_near(cotangent.x.to_vector<float>(), std::vector<double>{4, 0, 12});
  expect_equal(cotangent.places.dtype(), Dtype::i64);
}

TEST("integer and boolean arguments get no gradient in a trace, and their tensors none") {
  const Tensor x = tensor({1.0, 2.0, 3.0}).requires_grad_(), places = tensor({2, 0, 2}),
               mask = tensor({true, true, false});
  const auto f =
      jit([](Tensor x, Tensor places, Tensor mask) { return where(mask, index_select(x, 0, places), 0.0).sum(); });
  f(x, places, mask).backward();
  expect_near(x.grad().to_vector<float>(), std::vector<double>{1, 0, 1});
  expect(!places.grad().defined() && !mask.grad().defined());
  const BoundSymbol last = last_backward_traces(f).front().bound_symbols.back();
  expect(last.args[0].is_tensor() && last.args[1].is_none() && last.args[2].is_none());
  expect_error([&] { places.requires_grad_(); }, "floating");
}

TEST("results that are integers or booleans stand beside those with gradients") {
  const auto f = [](Tensor x) {
    const auto [largest, places] = fulgurite::max(x, 1);
    return std::tuple(largest, places, x > 0, x * 2);
  };
  const Tensor x = tensor({{1.0, -5.0}, {-3.0, 2.0}}).requires_grad_();
  for (const bool is_compiled : {false, true}) {
    const auto [largest, places, positive, doubled] = is_compiled ? jit(f)(x) : f(x);
    expect(largest.requires_grad() && doubled.requires_grad());
    expect(!places.requires_grad() && !positive.requires_grad());
    const std::vector<Tensor> gradients =
        autograd::grad({largest, doubled}, {x}, {ones_like(largest), ones_like(doubled)});
    expect_near(gradients[0].contiguous().reshape({-1}).to_vector<float>(), std::vector<double>{3, 2, 2, 3});
    // Only one of the results is differentiated.
    const auto [again, same_places, same_positive, unused] = is_compiled ? jit(f)(x) : f(x);
    const std::vector<Tensor> of_one = autograd::grad({again}, {x}, {ones_like(again)});
    expect_near(of_one[0].contiguous().reshape({-1}).to_vector<float>(), std::vector<double>{1, 0, 0, 1});
  }
}

TEST("gradients of several uses are added in bf16, the last use first, as PyTorch does") {
  const double small = 0x1p-8;  // half of what bf16 tells from 1
  for (const bool is_compiled : {false, true}) {
    expect_equal(gradient_of_three_uses({1, small, 0.75 * small}, is_compiled), 1 + 2 * small);
    expect_equal(gradient_of_three_uses({small, 0.75 * small, 1}, is_compiled), 1.0);
  }
}

TEST("a sum over a broadcast bf16 tensor is made in f32 and rounded once") {
  std::vector<double> factors(513, 0x1p-8);
  factors[0] = 1;
  for (const bool is_compiled : {false, true}) {
    const Tensor x = bf16({1}).requires_grad_(), scale = bf16(factors);
    const auto f = [](Tensor x, Tensor scale) { return (x * scale).sum(); };
    const Tensor y = is_compiled ? jit(f)(x, scale) : f(x, scale);
    y.backward();
    expect_equal(x.grad().item<double>(), 3.0);  // in bf16 the sum would stay at 1
  }
}
