// Custom functions (autograd::apply) inside traced functions: recorded once, with their backward as gradient rule.
#include <cmath>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

namespace {

Tensor leaf(std::vector<float> values) { return tensor(values).requires_grad_(); }
std::vector<float> values(const Tensor& t) { return t.contiguous().to_vector<float>(); }

int runs = 0;  // of Cube's forward and backward

struct Cube {
  static Tensor forward(autograd::Context& context, Tensor x) {
    ++runs;
    const Tensor square = x * x;
    context.save_for_backward({x, square});
    return square * x;
  }
  static Tensor backward(autograd::Context& context, Tensor gradient) {
    ++runs;
    const Tensor x = context.saved_tensors()[0];
    const Tensor scaled = gradient * 3;
    const Tensor once = scaled * x;
    return once * x;
  }
};

struct Scale {
  static Tensor forward(autograd::Context& context, Tensor x, double by) {
    context.saved_data()["by"] = by;
    return x * by;
  }
  static std::vector<Tensor> backward(autograd::Context& context, Tensor gradient) {
    return {gradient * std::any_cast<double>(context.saved_data()["by"]), {}};
  }
};

/// The gradient goes through as it is.
struct Rounded {
  static Tensor forward(autograd::Context&, Tensor x) { return round(x); }
  static Tensor backward(autograd::Context&, Tensor gradient) { return gradient; }
};

struct ProductAndSum {
  static std::tuple<Tensor, Tensor> forward(autograd::Context& context, Tensor a, Tensor b) {
    context.save_for_backward({a, b});
    const Tensor product = a * b, total = a + b;
    return {product, total};
  }
  static std::vector<Tensor> backward(autograd::Context& context, const std::vector<Tensor>& gradients) {
    const std::vector<Tensor> saved = context.saved_tensors();
    std::vector<Tensor> out(2);
    for (size_t i = 0; i < 2; ++i) {
      if (!context.needs_input_grad(i)) continue;
      const Tensor of_product = gradients[0] * saved[1 - i];
      out[i] = of_product + gradients[1];
    }
    return out;
  }
};

/// Forward and backward use other custom functions.
struct Nested {
  static Tensor forward(autograd::Context& context, Tensor x) {
    context.save_for_backward({x});
    return autograd::apply<Cube>(x);
  }
  static Tensor backward(autograd::Context& context, Tensor gradient) {
    const Tensor rounded = autograd::apply<Rounded>(context.saved_tensors()[0]);
    return gradient * rounded;
  }
};

template <class F>
std::vector<float> gradient_of(const F& f, const Tensor& at) {
  const Tensor x = at.detach().clone().requires_grad_();
  sum(f(x)).backward();
  return values(x.grad());
}

/// Values, and gradients of two orders, of f as it is, jitted, differentiated inside a jitted function, and under vjp.
template <class F>
void check_all_ways(const F& f, const Tensor& at, SourceLocation here = SourceLocation::here()) {
  const auto second_of = [&](const auto& function) {
    const Tensor x = at.detach().clone().requires_grad_();
    const Tensor first = autograd::grad(sum(function(x)), x, {}, {.create_graph = true})[0];
    const Tensor mixed = first * first;
    std::vector<std::vector<float>> found{values(function(x)), values(first)};
    if (first.requires_grad()) found.push_back(values(autograd::grad(sum(mixed), x)[0]));
    return found;
  };
  const auto expected = second_of(f);
  const auto compare = [&](const std::vector<std::vector<float>>& found) {
    expect_equal(found.size(), expected.size(), here);
    for (size_t i = 0; i < found.size() && i < expected.size(); ++i) expect_near(found[i], expected[i], 1e-5, here);
  };
  compare(second_of(jit(f)));
  compare(second_of(jit(f, {.fullgraph = true})));
  compare(second_of(jit(checkpoint(f))));
  compare(second_of(jit(f, {.cache = Cache::symbolic_values})));
  const auto total = [f](Tensor x) { return sum(f(x)); };
  expect_near(values(grad(total)(at)), expected[1], 1e-5, here);
  expect_near(values(jit(grad(total))(at)), expected[1], 1e-5, here);
  expect_near(values(jit(value_and_grad(total))(at).second), expected[1], 1e-5, here);
  const auto [result, pullback] = vjp(f, at);
  expect_near(values(result), expected[0], 1e-5, here);
  expect_near(values(std::get<0>(pullback(ones_like(result)))), expected[1], 1e-5, here);
  if (expected.size() < 3) return;
  const auto squared = [total](Tensor x) {
    const Tensor first = grad(total)(x);
    const Tensor square = first * first;
    return sum(square);
  };
  expect_near(values(grad(squared)(at)), expected[2], 1e-5, here);
  expect_near(values(jit(grad(squared))(at)), expected[2], 1e-5, here);
}

}  // namespace

TEST("custom functions give the same values and gradients in every mode") {
  const Tensor x = tensor({1.25, -2.75, 0.6});
  check_all_ways([](Tensor t) { return autograd::apply<Cube>(t); }, x);
  check_all_ways([](Tensor t) { return autograd::apply<Scale>(t, 4.0) * t; }, x);
  check_all_ways([](Tensor t) { return exp(autograd::apply<Rounded>(t)); }, x);
  check_all_ways([](Tensor t) { return autograd::apply<Nested>(t * 2); }, x);
  check_all_ways(
      [](Tensor t) {
        const Tensor other = sin(t);
        const auto [product, total] = autograd::apply<ProductAndSum>(t, other);
        return product * total;
      },
      x);
  check_all_ways(
      [](Tensor t) {
        const auto [product, total] = autograd::apply<ProductAndSum>(t, t);
        return product;
      },
      x);
  // One and the same after the other, and as the argument of another.
  check_all_ways([](Tensor t) { return autograd::apply<Cube>(autograd::apply<Rounded>(autograd::apply<Cube>(t))); }, x);
}

TEST("the C++ of a custom function runs when it is recorded, not at a hit") {
  const auto f = jit([](Tensor x) { return sum(autograd::apply<Cube>(x)); });
  const Tensor x = leaf({2, 3});
  runs = 0;
  f(x).backward();
  const int after_recording = runs;
  expect_equal(after_recording, 2);
  for (int i = 0; i < 3; ++i) f(x).backward();
  expect_equal(runs, after_recording);
  expect_near(values(x.grad()), {48, 108});
  const auto f2 = jit([](Tensor t, double by) { return sum(autograd::apply<Scale>(t, by)); });
  x.set_grad({});
  f2(x, 2.0).backward();
  f2(x, 3.0).backward();
  expect_near(values(x.grad()), {5, 5});
}

TEST("a custom function is an op of the trace, with its backward") {
  const auto f = jit([](Tensor x) { return autograd::apply<Cube>(x); });
  f(leaf({2, 3}));
  expect_trace(last_traces(f).front(), R"(
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

static auto Cube(Tensor t_0) {
  auto t0 = mul(t_0, t_0);
  auto t1 = mul(t0, t_0);
  return std::tuple(t1);
}

Tensor computation(Tensor t_0) {
  // t_0: "cpu f32[2]"
  auto [t1] = Cube(t_0);  // t1: "cpu f32[2]"
    // t0 = prims::mul(t_0, t_0)  // t0: "cpu f32[2]"
    // t1 = prims::mul(t0, t_0)  // t1: "cpu f32[2]"
    // t2 = prims::get_grad(t1)  // t2: "cpu f32[2]"
    // t3 = prims::mul(t2, 3)  // t3: "cpu f32[2]"
    // t4 = prims::mul(t3, t_0)  // t4: "cpu f32[2]"
    // t5 = prims::mul(t4, t_0)  // t5: "cpu f32[2]"
    // prims::put_grad(t_0, t5)
  return t1;
}
)");
  expect_python(last_traces(f).front(), R"(
import torch

def Cube(t_0):
  t0 = torch.mul(t_0, t_0)
  t1 = torch.mul(t0, t_0)
  return (t1,)

@torch.no_grad()
def computation(t_0):
  # t_0: "cpu f32[2]"
  [t1] = Cube(t_0)  # t1: "cpu f32[2]"
    # t0 = prims.mul(t_0, t_0)  # t0: "cpu f32[2]"
    # t1 = prims.mul(t0, t_0)  # t1: "cpu f32[2]"
    # t2 = prims.get_grad(t1)  # t2: "cpu f32[2]"
    # t3 = prims.mul(t2, 3)  # t3: "cpu f32[2]"
    # t4 = prims.mul(t3, t_0)  # t4: "cpu f32[2]"
    # t5 = prims.mul(t4, t_0)  # t5: "cpu f32[2]"
    # prims.put_grad(t_0, t5)
  return t1
)");
  // Without gradients it is replaced by its forward.
  f(tensor({2.0, 3.0}));
  expect_equal(last_traces(f).front().bound_symbols.size(), size_t{3});
}

namespace a {
struct Same {
  static Tensor forward(autograd::Context&, Tensor x) { return x * 2; }
  static Tensor backward(autograd::Context&, Tensor gradient) { return gradient * 2; }
};
}  // namespace a
namespace b {
struct Same {
  static Tensor forward(autograd::Context&, Tensor x) { return x * 5; }
  static Tensor backward(autograd::Context&, Tensor gradient) { return gradient * 5; }
};
}  // namespace b

TEST("functions of one name, and calls with other numbers, stay apart") {
  const auto f = [](Tensor x) {
    const Tensor first = autograd::apply<a::Same>(x), second = autograd::apply<b::Same>(x);
    const Tensor third = autograd::apply<Scale>(x, 7.0), fourth = autograd::apply<Scale>(x, 11.0);
    const Tensor left = first + second, right = third + fourth;
    return left + right;
  };
  const Tensor x = leaf({1, 2});
  const auto jitted = jit(f);
  expect_near(values(jitted(x)), {25, 50});
  expect_near(gradient_of(jitted, x), {25, 25});
  const std::string text = last_traces(jitted).front().cpp();
  for (const char* name : {"static auto Same(", "static auto Same_1(", "static auto Scale(", "static auto Scale_1("})
    expect(text.find(name) != std::string::npos, name);
}

namespace {

struct Doubled {  // in place
  static Tensor forward(autograd::Context& context, Tensor x) {
    x.mul_(2);
    context.mark_dirty({x});
    return x;
  }
  static Tensor backward(autograd::Context&, Tensor gradient) { return gradient * 2; }
};

struct Same {
  static Tensor forward(autograd::Context&, Tensor x) { return x; }
  static Tensor backward(autograd::Context&, Tensor gradient) { return gradient * 5; }
};

struct WithIndexes {
  static std::pair<Tensor, Tensor> forward(autograd::Context& context, Tensor x) {
    const Tensor order = argsort(x), doubled = x * 2;
    context.mark_non_differentiable({order});
    context.set_materialize_grads(false);
    return {doubled, order};
  }
  static Tensor backward(autograd::Context&, Tensor gradient, Tensor of_order) {
    if (of_order.defined()) throw std::runtime_error("a gradient of indexes");
    return gradient.defined() ? gradient * 2 : Tensor();
  }
};

struct Once {
  static constexpr bool once_differentiable = true;
  static Tensor forward(autograd::Context& context, Tensor x) {
    context.save_for_backward({x});
    return x * x;
  }
  static Tensor backward(autograd::Context& context, Tensor gradient) {
    return gradient * 2 * context.saved_tensors()[0];
  }
};

struct Forward {
  static Tensor forward(autograd::Context&, Tensor x) { return x * 1; }
};

}  // namespace

TEST("a function that writes its argument, and one that gives it back") {
  const auto written = [](Tensor x) {
    const Tensor y = x * 1;
    const Tensor z = autograd::apply<Doubled>(y);
    return y * z;
  };
  check_all_ways(written, tensor({1.0, 2.0}));
  const auto through_view = [](Tensor x) {
    const Tensor base = x * 1;
    autograd::apply<Doubled>(base(Slice(0, 2)));
    return base * tensor({1.0, 10.0, 100.0});
  };
  const Tensor x = leaf({1, 2, 3});
  expect_near(values(jit(through_view)(x)), {2, 40, 300});
  expect_near(gradient_of(jit(through_view), x), {2, 20, 100});
  const auto argument = jit([](Tensor t) { return autograd::apply<Doubled>(t) * 3; });
  const Tensor y = x * 1;
  expect_near(values(argument(y)), {6, 12, 18});
  expect_near(values(y), {2, 4, 6});
  expect_error([&] { argument(x); },
               "a jitted function writes in place into a leaf tensor that requires grad, cpu f32[3]");
  check_all_ways([](Tensor t) { return autograd::apply<Same>(t); }, tensor({1.0, 2.0}));
}

TEST("outputs without gradients, and functions that can be differentiated once or never") {
  const auto f = jit([](Tensor x) {
    const auto [doubled, order] = autograd::apply<WithIndexes>(x);
    return std::pair(doubled, order);
  });
  const Tensor x = leaf({3, 1});
  const auto [doubled, order] = f(x);
  expect(!order.requires_grad());
  expect_equal(order.to_vector<int64_t>(), std::vector<int64_t>{1, 0});
  sum(doubled).backward();
  expect_near(values(x.grad()), {2, 2});

  const auto once = jit([](Tensor t) { return autograd::apply<Once>(t); });
  const Tensor first = autograd::grad(sum(once(x)), x, {}, {.create_graph = true})[0];
  expect_near(values(first), {6, 2});
  expect_error([&] { sum(first).backward(); }, "a second derivative of Once, which is marked once_differentiable");
  const auto total = [](Tensor t) { return sum(autograd::apply<Once>(t)); };
  const auto inside = jit(value_and_grad(total));  // of a leaf: the result could be differentiated, and is not
  expect_near(values(inside(x).second), {6, 2});
  expect_error([&] { sum(inside(x).second).backward(); },
               "a second derivative of Once, which is marked once_differentiable");

  const auto never = jit([](Tensor t) { return autograd::apply<Forward>(t); });
  expect_near(values(never(x)), {3, 1});
  expect_error([&] { sum(never(x)).backward(); }, "Forward has no backward(): give it one, or call it under NoGrad");
}

TEST("custom functions in a function with graph breaks, under NoGrad, and with captured tensors") {
  const Tensor x = leaf({1, 2}), w = leaf({3, 4});
  const auto broken = jit([](Tensor t) {
    const Tensor y = autograd::apply<Cube>(t);
    const Tensor z = y.sum().item<double>() > 0 ? y * 2 : y;
    return autograd::apply<Scale>(z, 3.0);
  });
  expect_near(values(broken(x)), {6, 48});
  expect_near(gradient_of(broken, x), {18, 72});
  expect_near(gradient_of(broken, x), {18, 72});
  const auto without = jit([](Tensor t) {
    const NoGrad no_grad;
    return autograd::apply<Cube>(t);
  });
  expect(!without(x).requires_grad());
  const auto captures = jit([&](Tensor t) {
    const auto [product, total] = autograd::apply<ProductAndSum>(t, w);
    return product + total;
  });
  sum(captures(x)).backward();
  expect_near(values(x.grad()), {4, 5});
  expect_near(values(w.grad()), {2, 3});
}
