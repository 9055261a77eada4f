// Captured backwards whose gradients are differentiated again: the engine's gradients of gradients, to the bit.
#include <functional>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

namespace {

std::vector<float> values(const Tensor& t) { return t.contiguous().to_vector<float>(); }
void append(std::vector<float>& all, const Tensor& t) {
  if (!t.defined()) return all.push_back(-12345);
  for (const float value : values(t)) all.push_back(value);
}
Tensor weight(Shape sizes) { return (randn(sizes) * 0.5).detach().requires_grad_(); }

struct Cube {
  static Tensor forward(autograd::Context& context, Tensor x) {
    context.save_for_backward({x});
    return x * x * x;
  }
  static std::vector<Tensor> backward(autograd::Context& context, Tensor gradient) {
    const Tensor x = context.saved_tensors()[0];
    const Tensor square = x * x;
    return {gradient * square * 3};
  }
};

struct Once {
  static constexpr bool once_differentiable = true;
  static Tensor forward(autograd::Context&, Tensor x) { return x * 2; }
  static Tensor backward(autograd::Context&, Tensor gradient) { return gradient * 2; }
};

/// The engine and a captured backward must agree: twice, with `captures` captures.
void expect_same(const std::function<std::vector<float>()>& run, int64_t captures) {
  const std::vector<float> expected = run();
  compiled_autograd::reset();
  const auto scope = compiled_autograd::enable({.fullgraph = true, .executors = {"eager"}});
  expect_equal(run(), expected);
  expect_equal(run(), expected);
  expect_equal(compiled_autograd::captures(), captures);
}

/// The gradients of a penalty on the gradients of a loss, and those of that one's.
std::vector<float> three_orders(const std::function<Tensor(const Tensor&, const Tensor&)>& f) {
  manual_seed(7);
  const Tensor x = weight({3, 4}), w = weight({4, 4});
  const std::vector<Tensor> first = autograd::grad(f(x, w), {x, w}, {}, {.create_graph = true});
  const Tensor of_x = sum(first[0] * first[0]);
  const Tensor of_w = sum(first[1] * first[1]);
  const std::vector<Tensor> second = autograd::grad(of_x + of_w, {x, w}, {}, {.create_graph = true});
  sum(second[0] * second[1](Slice(0, 3))).backward();
  std::vector<float> all;
  for (const Tensor& t : {first[0], first[1], second[0], second[1], x.grad(), w.grad()}) append(all, t);
  return all;
}

}  // namespace

TEST("gradients of gradients are the engine's, and each order is captured once") {
  expect_same([] { return three_orders([](const Tensor& x, const Tensor& w) { return sum(tanh(matmul(x, w)) * x); }); },
              3);
  expect_same(
      [] {
        return three_orders([](const Tensor& x, const Tensor& w) {
          const Tensor normalized = nn::layer_norm(matmul(nn::gelu(x), w), {4});
          return sum(nn::softmax(normalized, 1) * exp(x)) + mean(pow(w, 3));
        });
      },
      3);
}

TEST("gradients of gradients through custom functions, checkpoints and writes into views") {
  expect_same(
      [] {
        return three_orders(
            [](const Tensor& x, const Tensor& w) { return sum(autograd::apply<Cube>(x) * sum(w * w)); });
      },
      3);
  expect_same(
      [] {
        return three_orders([](const Tensor& x, const Tensor& w) {
          const Tensor y = checkpoint([w](Tensor t) { return sin(matmul(t, w)) * t; })(x);
          return sum(y * y);
        });
      },
      3);
  expect_same(
      [] {
        return three_orders([](const Tensor& x, const Tensor& w) {
          const Tensor y = x * 2;
          y(Slice(0, 2)).mul_(w(Slice(0, 2)));
          return sum(y * y * y);
        });
      },
      3);
}

TEST("gradients of gradients through jitted functions, of values made inside them too") {
  const auto f = jit([](Tensor x, Tensor w) { return exp(sin(matmul(x, w)) * 0.5) * x; });
  expect_same(
      [&] { return three_orders([&](const Tensor& x, const Tensor& w) { return sum(f(x, w) * f(x * 2, w)); }); }, 3);
}

TEST("backward() with create_graph leaves gradients with a history") {
  const auto run = [] {
    const Tensor x = tensor(std::vector<float>{1, 2, 3}).requires_grad_();
    const Tensor y = x * x;
    y.retain_grad();
    sum(y * x).backward({}, {.create_graph = true});
    const Tensor penalty = sum(x.grad() * x.grad()) + sum(y.grad());
    std::vector<float> all = values(x.grad());
    x.set_grad({});
    penalty.backward();
    append(all, x.grad());
    return all;
  };
  const std::vector<float> expected = {3, 12, 27, 37, 289, 973};
  expect_near(run(), expected);
  compiled_autograd::reset();
  const auto scope = compiled_autograd::enable({.fullgraph = true});
  expect_near(run(), expected);
  expect_near(run(), expected);
  expect_equal(compiled_autograd::captures(), int64_t{2});
}

TEST("hooks are given gradients with a history, and what they do is differentiated") {
  expect_same(
      [] {
        const Tensor x = tensor(std::vector<float>{1, 2}).requires_grad_();
        const Tensor y = x * x;
        y.register_hook([](Tensor gradient) { return gradient * gradient; });
        y.grad_fn()->register_prehook(
            [](const std::vector<Tensor>& gradients) { return std::vector<Tensor>{gradients[0] * 2}; });
        y.grad_fn()->register_hook([](const std::vector<Tensor>& of_inputs, const std::vector<Tensor>& of_outputs) {
          std::vector<Tensor> out = of_inputs;
          for (Tensor& gradient : out) gradient = gradient + of_outputs[0];
          return out;
        });
        x.register_hook([](Tensor gradient) { return sin(gradient); });
        std::vector<float> all;
        x.register_post_accumulate_grad_hook([&](Tensor leaf) { all.push_back(leaf.grad().requires_grad()); });
        sum(y * x).backward({}, {.create_graph = true});
        const Tensor first = x.grad();
        x.set_grad({});
        append(all, first);
        append(all, autograd::grad(sum(first), x)[0]);
        return all;
      },
      2);
}

TEST("tensors of one memory and different histories are different inputs") {
  expect_same(
      [] {
        const Tensor x = tensor(std::vector<float>{2, 3}).requires_grad_();
        const Tensor constant = x.detach();
        const Tensor first = autograd::grad(sum(x * x * constant), x, {}, {.create_graph = true})[0];
        std::vector<float> all = values(first);
        append(all, autograd::grad(sum(first), x)[0]);
        return all;
      },
      2);
}

TEST("a gradient to start from may have a history too") {
  expect_same(
      [] {
        const Tensor x = tensor(std::vector<float>{2, 3}).requires_grad_(),
                     v = tensor(std::vector<float>{5, 7}).requires_grad_();
        const Tensor product = autograd::grad(x * x, x, v, {.create_graph = true})[0];
        std::vector<float> all = values(product);
        for (const Tensor& t : autograd::grad(sum(product), {x, v})) append(all, t);
        return all;
      },
      2);
}

TEST("a capture that is differentiated again is logged like any other") {
  compiled_autograd::reset();
  const auto scope = compiled_autograd::enable({.executors = {"eager"}});
  const Tensor x = tensor(std::vector<float>{2, 3}).requires_grad_();
  const Tensor first = autograd::grad(sum(sin(x)), x, {}, {.create_graph = true})[0];
  const std::string text = print(compiled_autograd::last_traces().front(), {.time = false, .source = false});
  expect_text(text.substr(text.find("Tensor compiled_backward")), R"(
Tensor compiled_backward(Tensor gradient_0, Tensor saved_0, Int size_0) {
  // gradient_0: "cpu f32[]"
  // saved_0: "cpu f32[size_0=2]"
  // size_0: "int 2"

  // SinBackward0 (NodeCall 2)
  auto t0 = cos(saved_0);  // t0: "cpu f32[size_0=2]"

  // SumBackward0 (NodeCall 1)
  auto t1 = reshape(gradient_0, {1});  // t1: "cpu f32[1]"
  auto t2 = expand(t1, {size_0});  // t2: "cpu f32[size_0=2]"

  // SinBackward0 (NodeCall 2)
  auto t3 = mul(t2, t0);  // t3: "cpu f32[size_0=2]"
  compiled_autograd::_exec_final_callbacks_stub(0);  // engine
  return t3;
}
)");
}

TEST("a second derivative that the engine refuses is refused in a capture") {
  const auto run = [] {
    const Tensor x = tensor(std::vector<float>{2, 3}).requires_grad_();
    const Tensor first = autograd::grad(sum(autograd::apply<Once>(x) * x), x, {}, {.create_graph = true})[0];
    sum(first * first).backward();
  };
  expect_error(run, "a second derivative of");
  const auto scope = compiled_autograd::enable();
  expect_error(run, "a second derivative of");
  const auto whole = compiled_autograd::enable({.fullgraph = true});
  expect_error(run,
               "compiled autograd: the backward cannot be captured whole (fullgraph): NotDifferentiableBackward is not "
               "captured yet");
}
