// The checks that every mode of differentiation must pass, in eager mode and through jitted functions; numbered as in
// the survey of PyTorch's engine. Compiled autograd runs the same ones.
#include <cmath>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

namespace {
Tensor leaf(std::vector<float> values) { return tensor(values).requires_grad_(); }
std::vector<float> values(const Tensor& t) { return t.contiguous().to_vector<float>(); }

struct Network {
  Tensor w1 = tensor({{1.0, -1.0}, {0.5, 2.0}}).requires_grad_(), b1 = tensor({0.0, 0.5}).requires_grad_();
  Tensor w2 = tensor({{1.0, -2.0}}).requires_grad_(), b2 = tensor({0.25}).requires_grad_();
};
Tensor loss_of(const Network& network, const Tensor& x) {
  const Tensor hidden = relu(nn::linear(x, network.w1, network.b1));
  return sum(nn::linear(hidden, network.w2, network.b2));
}
void check_gradients(const Network& network) {
  expect_near(values(network.w1.grad()), {0, 0, -2, -4});
  expect_near(values(network.b1.grad()), {0, -2});
  expect_near(values(network.w2.grad()), {0, 5});
  expect_near(values(network.b2.grad()), {1});
}

struct MustNotRun {
  static Tensor forward(autograd::Context&, Tensor x) { return x * 1; }
  static Tensor backward(autograd::Context&, Tensor) {
    throw std::runtime_error("the backward of what nobody asked for");
  }
};
}  // namespace

TEST("1: a network") {
  const Tensor x = tensor({{1.0, 2.0}});
  const auto f = jit([](const Network& network, Tensor input) { return loss_of(network, input); });
  for (int i = 0; i < 3; ++i) {
    const Network eager, jitted;
    loss_of(eager, x).backward();
    check_gradients(eager);
    f(jitted, x).backward();
    check_gradients(jitted);
  }
  expect_equal(cache_misses(f), 1);
}

TEST("2: sizes, 0 and 1 among them") {
  const int64_t sizes[] = {10, 100, 10, 1, 0, 7};
  const double sums[] = {90, 9900, 90, 0, 0, 42};
  const auto f = jit([](Tensor t) { return sum(t * t); }, {.cache = Cache::symbolic_values});
  for (int i = 0; i < 6; ++i) {
    const Tensor x = arange(0, sizes[i], 1, {.dtype = Dtype::f32}).requires_grad_();
    sum(x * x).backward();
    expect_near(sum(x.grad()).item<double>(), sums[i]);
    x.set_grad({});
    f(x).backward();
    expect_near(sum(x.grad()).item<double>(), sums[i]);
  }
}

TEST("3: the hooks of a leaf see values, in order") {
  const Tensor x = leaf({1, 1, 1});
  const std::shared_ptr<Node> accumulator = (x * 1).grad_fn()->next_edges()[0].node;
  std::string order;
  x.register_hook([&](Tensor gradient) {
    order += "1";
    return gradient - 2;
  });
  accumulator->register_prehook([&](const std::vector<Tensor>& gradients) {
    order += "2";
    return std::vector<Tensor>{gradients[0] / 5};
  });
  x.register_post_accumulate_grad_hook([&](Tensor t) {
    order += "3";
    const NoGrad no_grad;
    t.grad().add_(0.5);
  });
  bool reads_gradient = false;
  accumulator->register_hook([&](const std::vector<Tensor>&, const std::vector<Tensor>& of_outputs) {
    order += "4";
    x.set_grad((reads_gradient ? x.grad() : of_outputs[0]) * 10);
  });
  sum(x).backward();
  expect_equal(order, "1234");
  expect_near(values(x.grad()), {-2, -2, -2});
  reads_gradient = true;  // of the leaf, not of the node's output: what the hook before wrote is seen
  x.set_grad({});
  sum(x).backward();
  expect_near(values(x.grad()), {3, 3, 3});
}

TEST("4: a gradient of a part runs that part") {
  const Tensor y = leaf({1, 2}), z = leaf({3, 4});
  int hooks = 0, accumulated = 0;
  z.register_hook([&](Tensor) { ++hooks; });
  z.register_post_accumulate_grad_hook([&](Tensor) { ++accumulated; });
  const Tensor loss = sum(autograd::apply<MustNotRun>(y) * z);
  expect_near(values(autograd::grad(loss, z, {}, {.retain_graph = true})[0]), {1, 2});
  expect(!y.grad().defined() && !z.grad().defined());
  expect_equal(hooks, 1);
  expect_equal(accumulated, 0);
  loss.backward({}, {.inputs = {z}});
  expect_near(values(z.grad()), {1, 2});
  expect(!y.grad().defined());
  expect_equal(hooks, 2);
  expect_equal(accumulated, 1);
}

TEST("5: backward twice, and once too often") {
  const Tensor x = leaf({3});
  const Tensor y = sum(x * x);
  y.backward({}, {.retain_graph = true});
  y.backward();
  expect_near(values(x.grad()), {12});
  expect_error([&] { y.backward(); },
               "backward through MulBackward0 a second time: what it had saved was freed by the first backward(); give "
               "{.retain_graph = true} to every backward() or autograd::grad() but the last");
  const Tensor z = sum(x + 1);
  x.set_grad({});
  z.backward();
  z.backward();
  expect_near(values(x.grad()), {2});
}

TEST("6: a saved tensor that was written") {
  const Tensor x = leaf({1, 2, 3});
  const Tensor y = exp(x);
  y.add_(1);
  expect_error(
      [&] { sum(y).backward(); },
      "a tensor needed for backward was changed in place: cpu f32[3], output 0 of ExpBackward0, is at version 1 but "
      "was saved at version 0; write into a clone, or after backward()");
}

TEST("7: three jitted subgraphs in one graph, and one subgraph three times") {
  const auto plus = jit([](Tensor t) { return t + 10; });
  const auto doubled = jit([](Tensor t) { return t * 2; });
  const auto summed = jit([](Tensor t) { return sum(t); });
  const Tensor x = leaf({1, 2, 3});
  const Tensor middle = doubled(plus(x));
  summed(middle).backward();
  expect_near(values(x.grad()), {2, 2, 2});
  expect_equal(middle.grad_fn()->name(), "CompiledBackward");
  x.set_grad({});
  const auto sine = jit([](Tensor t) { return sin(t); });
  sum(sine(x) + sine(x * 2) + sine(x * 3)).backward();
  for (size_t i = 0; i < 3; ++i) {
    const double at = static_cast<double>(i) + 1;
    expect_near(values(x.grad())[i], std::cos(at) + 2 * std::cos(2 * at) + 3 * std::cos(3 * at), 1e-5);
  }
}

TEST("8: a NaN in a gradient") {
  const DetectAnomaly detect;
  const Tensor x = leaf({-1});
  const Tensor y = sqrt(x);
  expect_error(
      [&] { y.backward(); },
      "SqrtBackward0 gave NaN for the gradient of its input 0; the forward was called at reference_checks_test.cpp:");
  const auto f = jit([](Tensor t) { return sqrt(t); });
  const Tensor z = f(x);
  expect_error([&] { z.backward(); }, "CompiledBackward gave NaN for the gradient of its input 0");
}

TEST("hooks registered before a write stay with the value before it, a retained gradient is that of the last") {
  const Tensor x = leaf({1});
  const Tensor b = x * 2;
  std::vector<float> seen;
  const HookHandle removed = b.register_hook([](Tensor gradient) { return gradient * 100; });
  b.register_hook([&](Tensor gradient) { seen = values(gradient); });
  b.retain_grad();
  b.mul_(5);
  removed.remove();  // takes effect at once
  sum(b * 3).backward();
  expect_near(seen, {15});
  expect_near(values(b.grad()), {3});
  expect_near(values(x.grad()), {30});
}

TEST("a write into a view names the nodes as PyTorch does") {
  const Tensor x = leaf({1, 2, 3});
  const Tensor y = x * 2;
  const Tensor view = y(Slice(0, 2));
  view.mul_(3);
  expect_equal(y.grad_fn()->name(), "CopySlices");
  expect_equal(view.grad_fn()->name(), "AsStridedBackward0");
}

TEST("parameters accumulate in PyTorch's order") {
  const Tensor x = ones({2, 3});
  const Tensor w0 = ones({4, 3}).requires_grad_(), b0 = zeros({4}).requires_grad_(), w1 = ones({2, 4}).requires_grad_(),
               b1 = zeros({2}).requires_grad_();
  std::string order;
  const auto watch = [&](const Tensor& t, const char* name) {
    t.register_post_accumulate_grad_hook([&order, name](Tensor) { order += name; });
  };
  watch(w0, "0.weight ");
  watch(b0, "0.bias ");
  watch(w1, "1.weight ");
  watch(b1, "1.bias ");
  sum(nn::linear(nn::linear(x, w0, b0), w1, b1)).backward();
  expect_equal(order, "1.bias 1.weight 0.bias 0.weight ");
}
