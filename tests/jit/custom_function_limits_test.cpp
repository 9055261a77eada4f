// Custom functions inside traced functions: draws, and forbidden operations.
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

namespace {

Tensor leaf(std::vector<float> values) { return tensor(values).requires_grad_(); }
std::vector<float> values(const Tensor& t) { return t.contiguous().to_vector<float>(); }

struct Noisy {
  static Tensor forward(autograd::Context& context, Tensor x) {
    const Tensor kept = nn::dropout(x, 0.5, true), noise = rand({4});
    context.save_for_backward({noise});
    return kept + noise;
  }
  static Tensor backward(autograd::Context& context, Tensor gradient) { return gradient * context.saved_tensors()[0]; }
};

struct Asks {
  static Tensor forward(autograd::Context&, Tensor x) { return x * x.sum().item<double>(); }
  static Tensor backward(autograd::Context&, Tensor gradient) { return gradient; }
};

struct WritesElsewhere {
  static Tensor forward(autograd::Context&, Tensor x, const std::vector<Tensor>& others) {
    others[0].add_(1);
    return x * 1;
  }
  static std::vector<Tensor> backward(autograd::Context&, Tensor gradient) { return {gradient, {}}; }
};

struct WritesUnmarked {
  static Tensor forward(autograd::Context&, Tensor x) {
    x.add_(1);
    return x * 1;
  }
  static Tensor backward(autograd::Context&, Tensor gradient) { return gradient; }
};

template <int gradients>
struct Wrong {
  static Tensor forward(autograd::Context&, Tensor a, double, Tensor) { return a * 1; }
  static std::vector<Tensor> backward(autograd::Context&, Tensor gradient) {
    return std::vector<Tensor>(static_cast<size_t>(gradients), gradient);
  }
};

struct Shorter {
  static Tensor forward(autograd::Context&, Tensor x) { return x * 1; }
  static Tensor backward(autograd::Context&, Tensor) { return ones({2}); }
};

}  // namespace

TEST("draws inside a custom function happen once, and are eager mode's") {
  const auto run = [](const auto& f) {
    manual_seed(5);
    const Tensor x = leaf({1, 2, 3, 4});
    const Tensor y = f(x);
    sum(y).backward();
    std::vector<float> all = values(y);
    for (const float g : values(x.grad())) all.push_back(g);
    const std::vector<float> next = values(rand({2}));
    all.insert(all.end(), next.begin(), next.end());
    return all;
  };
  const auto f = [](Tensor x) { return autograd::apply<Noisy>(x) * x; };
  const std::vector<float> expected = run(f);
  expect_equal(run(jit(f)), expected);
  expect_equal(run(jit(checkpoint(f))), expected);
}

TEST("unsupported actions of a traced custom function are errors that name it") {
  const Tensor x = leaf({1, 2, 3}), buffer = zeros({3});
  expect_error([&] { jit([](Tensor t) { return autograd::apply<Asks>(t); })(x); },
               "a graph break, which cannot be made inside autograd::apply<Asks>");
  expect_error(
      [&] {
        jit([](Tensor t, Tensor other) { return autograd::apply<WritesElsewhere>(t, std::vector<Tensor>{other}); })(
            x, buffer);
      },
      "autograd::apply<WritesElsewhere> writes into t_1, cpu f32[3], which is none of its arguments; inside a traced "
      "function pass it as an argument, mark_dirty() it and return it");
  expect_error(
      [&] { jit([](Tensor t) { return autograd::apply<WritesUnmarked>(t * 1); })(x); },
      "WritesUnmarked: forward() writes argument 0, cpu f32[3]; inside a traced function it must mark_dirty() and "
      "return it");
  const Tensor other = leaf({1});
  const auto wrong = [&](const auto& function, const char* message) {
    expect_error([&] { jit(function)(x, other); }, message);
  };
  wrong([](Tensor t, Tensor u) { return autograd::apply<Wrong<1>>(t, 1.0, u); }, "gave 1 gradients for 3 arguments");
  wrong([](Tensor t, Tensor u) { return autograd::apply<Wrong<4>>(t, 1.0, u); }, "gave 4 gradients for 3 arguments");
  wrong([](Tensor t, Tensor u) { return autograd::apply<Wrong<3>>(t, 1.0, u); },
        "gave a gradient for argument 1, which is not a tensor");
  wrong([](Tensor t, Tensor) { return autograd::apply<Shorter>(t); },
        "ShorterBackward gave cpu f32[2] for the gradient of argument 0, whose sizes are [3]\n  at "
        "custom_function_limits_test.cpp:");
}
