// Whole backwards captured at run time: values, hooks and counts are the eager engine's.
#include <cmath>
#include <functional>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

namespace {

Tensor leaf(std::vector<float> values) { return tensor(values).requires_grad_(); }
std::vector<float> values(const Tensor& t) { return t.contiguous().to_vector<float>(); }

struct Mlp {
  Tensor w1 = tensor(std::vector<float>{1, -1, 0.5, 2}).reshape({2, 2}).requires_grad_(), b1 = leaf({0, 0.5});
  Tensor w2 = tensor(std::vector<float>{1, -2}).reshape({1, 2}).requires_grad_(), b2 = leaf({0.25});
  Tensor operator()(const Tensor& x) const { return sum(nn::linear(relu(nn::linear(x, w1, b1)), w2, b2)); }
};

}  // namespace

TEST("a network's backward is captured once, and found again") {
  compiled_autograd::reset();
  const auto scope = compiled_autograd::enable();
  for (int i = 0; i < 3; ++i) {
    const Mlp model;
    model(tensor(std::vector<float>{1, 2}).reshape({1, 2})).backward();
    expect_near(values(model.w1.grad()), {0, 0, -2, -4});
    expect_near(values(model.b1.grad()), {0, -2});
    expect_near(values(model.w2.grad()), {0, 5});
    expect_near(values(model.b2.grad()), {1});
  }
  expect_equal(compiled_autograd::captures(), int64_t{1});
}

TEST("gradients accumulate, on top of what is there and from several uses") {
  compiled_autograd::reset();
  const auto scope = compiled_autograd::enable();
  const Tensor x = leaf({3});
  const Tensor y = x * x + x;
  y.backward({}, {.retain_graph = true});
  expect_near(values(x.grad()), {7});
  y.backward({}, {.retain_graph = true});
  expect_near(values(x.grad()), {14});
  expect_equal(compiled_autograd::captures(), int64_t{2});  // whether a leaf has a gradient is part of the structure
  y.backward();
  expect_near(values(x.grad()), {21});
  expect_error([&] { y.backward(); }, "a second time");
  expect_equal(compiled_autograd::captures(), int64_t{2});
}

TEST("hooks of all kinds run in the engine's order and see its gradients") {
  const auto run = [] {
    std::string order;
    const Tensor x = leaf({1, 2});
    const Tensor y = x * 3;
    x.register_hook([&](const Tensor& g) { order += "leaf" + std::to_string(values(g)[0]) + " "; });
    y.register_hook([&](const Tensor& g) {
      order += "tensor ";
      return g * 2;
    });
    y.grad_fn()->register_prehook([&](const std::vector<Tensor>& g) {
      order += "before ";
      return std::vector<Tensor>{g[0] + 1};
    });
    y.grad_fn()->register_hook([&](const std::vector<Tensor>& in, const std::vector<Tensor>& out) {
      order += "after" + std::to_string(values(in[0])[0]) + "," + std::to_string(values(out[0])[0]) + " ";
    });
    x.register_post_accumulate_grad_hook([&](Tensor t) {
      order += "accumulated" + std::to_string(values(t.grad())[1]) + " ";
      autograd::queue_callback([&order] { order += "callback "; });
    });
    y.retain_grad();
    sum(y * y).backward();
    for (const Tensor& gradient : {x.grad(), y.grad()})
      for (const float value : values(gradient)) order += std::to_string(value) + " ";
    return order;
  };
  const std::string eager = run();
  compiled_autograd::reset();
  const auto scope = compiled_autograd::enable();
  expect_equal(run(), eager);
  expect_equal(run(), eager);
  expect_equal(compiled_autograd::captures(), int64_t{1});
}

TEST("a hook is an op of the trace, and hooks with different actions need one capture") {
  compiled_autograd::reset();
  const auto scope = compiled_autograd::enable();
  const std::vector<std::function<Tensor(const Tensor&)>> hooks = {[](const Tensor& g) { return g + 10; },
                                                                   [](const Tensor& g) { return g * 5; },
                                                                   [](const Tensor& g) { return g.detach(); }};
  const std::vector<float> expected = {11, 5, 1};
  for (size_t i = 0; i < hooks.size(); ++i) {
    const Tensor x = randn({2, 2}).requires_grad_();
    x.register_hook(hooks[i]);
    sum(x).backward();
    expect_near(values(x.grad()), std::vector<float>(4, expected[i]));
  }
  expect_equal(compiled_autograd::captures(), int64_t{1});
  expect_text(print(compiled_autograd::last_traces().front(), {.time = false, .source = false}), R"(
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

namespace compiled_autograd {
inline Tensor call_hook(const Arg& hook, const Arg& gradient, const Arg& hook_type) {
  return call("compiled_autograd.call_hook", {hook, gradient}, {{"hook_type", hook_type}});
}
}

namespace compiled_autograd {
inline std::tuple<> accumulate_grad_(const Arg& call, const Arg& variable, const Arg& gradient) {
  const std::vector<Value> results = call("compiled_autograd.accumulate_grad_", {call, variable, gradient}).list();
  return {};
}
}

namespace compiled_autograd {
inline std::tuple<> _exec_final_callbacks_stub(const Arg& hooks) {
  const std::vector<Value> results = call("compiled_autograd._exec_final_callbacks_stub", {hooks}).list();
  return {};
}
}

void compiled_backward(Tensor gradient_0, Tensor leaf_0, Int size_0) {
  // gradient_0: "cpu f32[]"
  // leaf_0: "cpu f32[size_0=2, size_0=2]"
  // size_0: "int 2"

  // SumBackward0 (NodeCall 1)
  auto t0 = reshape(gradient_0, {1, 1});  // t0: "cpu f32[1, 1]"
  auto t1 = expand(t0, {size_0, size_0});  // t1: "cpu f32[size_0=2, size_0=2]"

  // AccumulateGrad (NodeCall 2)
  auto t2 = compiled_autograd::call_hook(0, t1, "tensor_pre_hook");  // t2: "cpu f32[size_0=2, size_0=2]", engine
  compiled_autograd::accumulate_grad_(1, leaf_0, t2);  // engine
  compiled_autograd::_exec_final_callbacks_stub(2);  // engine
  return;
}
)");
}

TEST("gradients of some tensors only") {
  compiled_autograd::reset();
  const auto scope = compiled_autograd::enable();
  const Tensor x = leaf({1, 2}), z = leaf({3, 4});
  const Tensor y = sin(x);
  const std::vector<Tensor> found = autograd::grad(sum(y * z), {z, y});
  expect_near(values(found[0]), {std::sin(1.0f), std::sin(2.0f)}, 1e-6);
  expect_near(values(found[1]), {3, 4});
  expect(!x.grad().defined() && !z.grad().defined(), "leaves are left alone");
}

namespace {
struct Cube {
  static Tensor forward(autograd::Context& context, Tensor x) {
    context.save_for_backward({x});
    return x * x * x;
  }
  static std::vector<Tensor> backward(autograd::Context& context, Tensor gradient) {
    const Tensor x = context.saved_tensors()[0];
    return {gradient * x * x * 3};
  }
};
}  // namespace

TEST("custom functions, jitted functions with graph breaks and checkpoints are part of a captured backward") {
  const auto run = [](bool breaks) {
    const auto f = jit([breaks](Tensor t) {
      const Tensor a = t + 10;
      if (breaks) graph_break();
      const Tensor b = a * 2;
      if (breaks) graph_break();
      return b * b;
    });
    const Tensor x = leaf({1, 2});
    const Tensor y = autograd::apply<Cube>(f(x));
    const Tensor z = checkpoint([](Tensor t) { return sin(t) * t; })(y * 1e-4);
    sum(z).backward();
    return values(x.grad());
  };
  const std::vector<float> eager = run(true);
  compiled_autograd::reset();
  const auto scope = compiled_autograd::enable();
  expect_near(run(true), eager, 1e-3);
  expect_near(run(false), eager, 1e-3);
}

TEST("a jitted function whose option asks for it captures the backward inside") {
  compiled_autograd::reset();
  const Tensor weight = randn({10, 10}).requires_grad_(), bias = zeros({10}).requires_grad_();
  const auto train = jit(
      [&](Tensor x) {
        const Tensor loss = sum(nn::linear(x, weight, bias));
        loss.backward();
      },
      {.fullgraph = true, .compiled_autograd = true});
  const Tensor x = randn({10});
  for (int i = 1; i <= 3; ++i) {
    train(x);
    expect_near(values(bias.grad()), std::vector<float>(10, static_cast<float>(i)));
  }
  expect_equal(compiled_autograd::captures(), int64_t{2});  // without a gradient to add to, and with one
  // The backward of a graph that is there already.
  const Tensor loss = sum(nn::linear(x, weight, bias) * 2);
  jit([&] { loss.backward(); }, {.fullgraph = true, .compiled_autograd = true})();
  expect_near(values(bias.grad()), std::vector<float>(10, 5));
  const auto asks =
      jit([](Tensor t) { return t.item<double>() > 0 ? t : -t; }, {.fullgraph = true, .compiled_autograd = true});
  expect_error([&] { asks(tensor(1.0)); }, "which cannot be made with fullgraph = true");
}

TEST("capturing can be switched on for the process") {
  compiled_autograd::reset();
  compiled_autograd::set_enabled(true);
  const Tensor x = leaf({2});
  (x * x).backward();
  compiled_autograd::set_enabled(false);
  (x * x).backward();
  expect_equal(compiled_autograd::captures(), int64_t{1});
  expect_near(values(x.grad()), {8});
}
