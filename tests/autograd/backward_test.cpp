#include <thread>

#include <fulgurite/autograd.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "support/test.h"

using namespace fulgurite;

namespace {
Tensor leaf(std::vector<float> values) { return tensor(values).requires_grad_(); }
std::vector<float> values(const Tensor& t) { return t.contiguous().to_vector<float>(); }
}  // namespace

TEST("backward gives the derivative of a chain") {
  const Tensor x = leaf({0.5f, -1.0f});
  const Tensor y = sum(exp(x) * x);
  y.backward();
  expect_near(values(x.grad()), {std::exp(0.5) * 1.5, 0.0});
}

TEST("gradients of several uses and several calls add up") {
  const Tensor x = leaf({3});
  sum(x * x + x).backward();
  expect_near(values(x.grad()), {7});
  sum(x * 2).backward();
  expect_near(values(x.grad()), {9});
  x.set_grad({});
  expect(!x.grad().defined());
}

TEST("broadcast operands get gradients of their own shape") {
  const Tensor x = ones({2, 3}).requires_grad_(), b = ones({3}).requires_grad_();
  sum(x * b).backward();
  expect_equal(b.grad().shape(), Shape({3}));
  expect_near(values(b.grad()), {2, 2, 2});
}

TEST("nothing is recorded under NoGrad, and everything again under EnableGrad") {
  const Tensor x = leaf({1});
  const NoGrad no_grad;
  expect(!(x * 2).requires_grad());
  const EnableGrad enable;
  const Tensor y = x * 2;
  expect(y.requires_grad());
  expect(!y.is_leaf());
  expect_equal(y.grad_fn()->name(), "MulBackward0");
  expect(!y.detach().requires_grad());
}

TEST("backward of a tensor that is not a scalar needs a gradient") {
  const Tensor x = leaf({1, 2});
  expect_error([&] { (x * 2).backward(); }, "only for a scalar");
  (x * 2).backward(tensor(std::vector<float>{1, 10}));
  expect_near(values(x.grad()), {2, 20});
  expect_error([&] { (x * 2).backward(ones({3})); }, "the gradient is cpu f32[3], the tensor cpu f32[2]");
  expect_error([] { ones({}).backward(); }, "does not require grad");
}

TEST("a second backward needs retain_graph") {
  const Tensor x = leaf({3});
  const Tensor y = sum(x * x);
  y.backward({}, {.retain_graph = true});
  y.backward();
  expect_near(values(x.grad()), {12});
  expect_error([&] { y.backward(); }, "a second time");
}

TEST("a graph that saved nothing may run twice") {
  const Tensor x = leaf({3});
  const Tensor y = sum(x + 1);
  y.backward();
  y.backward();
  expect_near(values(x.grad()), {2});
}

TEST("grad gives gradients without touching the leaves") {
  const Tensor x = leaf({2}), w = leaf({5}), unused = leaf({1});
  const Tensor y = sum(x * w);
  const auto both = autograd::grad(y, {x, w}, {}, {.retain_graph = true});
  expect_near(values(both[0]), {5});
  expect_near(values(both[1]), {2});
  expect(!x.grad().defined());
  expect_error([&] { autograd::grad(y, unused, {}, {.retain_graph = true}); }, "allow_unused");
  expect(!autograd::grad(y, unused, {}, {.retain_graph = true, .allow_unused = true})[0].defined());
  expect_near(values(autograd::grad(y, unused, {}, {.materialize_grads = true})[0]), {0});
}

TEST("grad of a value in the middle stops there") {
  const Tensor x = leaf({2});
  const Tensor middle = x * x;
  const Tensor y = sum(middle * middle);
  expect_near(values(autograd::grad(y, middle)[0]), {8});
}

TEST("backward with inputs accumulates into these only") {
  const Tensor x = leaf({2}), w = leaf({5});
  sum(x * w).backward({}, {.inputs = {w}});
  expect(!x.grad().defined());
  expect_near(values(w.grad()), {2});
}

TEST("create_graph makes gradients that can be differentiated") {
  const Tensor x = leaf({2, 3});
  const Tensor first = autograd::grad(sum(x * x * x), x, {}, {.create_graph = true})[0];
  expect_near(values(first), {12, 27});
  const Tensor second = autograd::grad(sum(first), x, {}, {.create_graph = true})[0];
  expect_near(values(second), {12, 18});
  expect_near(values(autograd::grad(sum(second), x)[0]), {6, 6});
}

TEST("second derivatives pass through saved results") {
  const Tensor x = leaf({0.3f});
  const Tensor first = autograd::grad(sum(tanh(x)), x, {}, {.create_graph = true})[0];
  const double t = std::tanh(0.3);
  expect_near(values(first), {1 - t * t});
  expect_near(values(autograd::grad(sum(first), x)[0]), {-2 * t * (1 - t * t)}, 1e-5);
}

TEST("operators of several results give gradients for the results that are used") {
  const Tensor x = leaf({1, 2, 3, 4});
  const auto parts = split(x, 2);
  sum(parts[1] * 3).backward();
  expect_near(values(x.grad()), {0, 0, 3, 3});
}

TEST("hooks change gradients, and may be removed") {
  const Tensor x = leaf({1});
  const HookHandle doubled = x.register_hook([](Tensor g) { return g * 2; });
  x.register_hook([](Tensor) {});
  sum(x * 3).backward();
  expect_near(values(x.grad()), {6});
  doubled.remove();
  x.set_grad({});
  const Tensor middle = x * 3;
  middle.register_hook([](Tensor g) -> std::optional<Tensor> { return g + 1; });
  middle.retain_grad();
  sum(middle).backward();
  expect_near(values(middle.grad()), {2});
  expect_near(values(x.grad()), {6});
}

TEST("a post accumulate hook sees the leaf with its gradient") {
  const Tensor x = leaf({1});
  double seen = 0;
  x.register_post_accumulate_grad_hook([&](Tensor t) { seen = t.grad().item<double>(); });
  sum(x * 3).backward();
  expect_equal(seen, 3.0);
}

TEST("a chain of a hundred thousand nodes is run and freed") {
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 100'000; ++i) y = y + 1;
  sum(y).backward();
  expect_near(values(x.grad()), {1});
}

TEST("a leaf's gradient is its own") {
  const Tensor a = leaf({1}), b = leaf({1});
  sum(a + b).backward();
  const NoGrad no_grad;
  a.grad().add_(1);
  expect_near(values(b.grad()), {1});
}

TEST("threads may differentiate with the same leaf") {
  const Tensor x = leaf({2});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 25; ++k) sum(x * x).backward();
    });
  for (std::thread& thread : threads) thread.join();
  expect_near(values(x.grad()), {400});
}

TEST("only the gradients that lead to an input are computed") {
  // Each factor's gradient needs the other one's elements: overwritten values cannot be read.
  const Tensor x = leaf({2}), w = leaf({5});
  const Tensor a = x * 1, b = w * 1;
  const Tensor y = sum(a * b);
  {
    const NoGrad no_grad;
    b.add_(1);
  }
  expect_near(values(autograd::grad(y, w, {}, {.retain_graph = true})[0]), {2});
  expect_error([&] { autograd::grad(y, x, {}, {.retain_graph = true}); }, "input 1 of MulBackward0, is at version 1");
  y.backward({}, {.retain_graph = true, .inputs = {w}});
  expect_near(values(w.grad()), {2});
  const Tensor second = autograd::grad(y * w, w, {}, {.create_graph = true})[0];
  expect_near(values(autograd::grad(sum(second), w, {}, {.allow_unused = true})[0]), {4});
}

TEST("the hash of a graph tells its operators, constants, dtypes, dimensions and edges, and not its sizes") {
  const auto hash = [](const auto& f, const Tensor& x) { return f(x).grad_fn()->structure_hash(); };
  const auto f = [](const Tensor& x) { return sum(exp(x) * x); };
  const Tensor x = leaf({1, 2});
  const uint64_t expected = hash(f, x);
  expect_equal(hash(f, leaf({1, 2, 3})), expected);
  expect_equal(hash(f, leaf({4})), expected);
  expect(hash(f, ones({2, 2}).requires_grad_()) != expected, "other dimensions");
  expect(hash(f, ones({2}, {.dtype = Dtype::f64}).requires_grad_()) != expected, "another dtype");
  expect(hash([](const Tensor& t) { return sum(sin(t) * t); }, x) != expected, "another operator");
  expect(hash([](const Tensor& t) { return sum(exp(t) * exp(t)); }, x) != expected, "other edges");
  const auto scaled = [](double by) { return [by](const Tensor& t) { return t * by; }; };
  expect_equal(hash(scaled(2), x), hash(scaled(2), leaf({3})));
  expect(hash(scaled(2), x) != hash(scaled(3), x), "another constant");
  const auto wide = [](const Tensor& t) { return t.expand({2, t.size(0)}); };
  expect_equal(hash(wide, x), hash(wide, leaf({1, 2, 3})));
}
