// Backward inside a backward: PyTorch's reentrant checkpoint written as a custom function, and how deep it goes.
#include <cmath>
#include <functional>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

namespace {

Tensor leaf(std::vector<float> values) { return tensor(values).requires_grad_(); }
std::vector<float> values(const Tensor& t) { return t.contiguous().to_vector<float>(); }

using Function = std::function<Tensor(const Tensor&)>;

/// Keeps the argument alone; backward runs the function again and differentiates that run, on the spot.
struct ReentrantCheckpoint {
  static Tensor forward(autograd::Context& context, Tensor x, Function f) {
    context.save_for_backward({x});
    context.saved_data()["function"] = f;
    return f(x);
  }
  static std::vector<Tensor> backward(autograd::Context& context, Tensor gradient) {
    const Tensor x = context.saved_tensors()[0].detach().requires_grad_();
    const EnableGrad records;
    const Tensor y = std::any_cast<Function>(context.saved_data()["function"])(x);
    autograd::backward(y, gradient);
    return {x.grad(), {}};
  }
};

Tensor reentrant(const Tensor& x, const Function& f) { return autograd::apply<ReentrantCheckpoint>(x, f); }

}  // namespace

TEST("a reentrant checkpoint gives the gradients of arguments and of captured leaves") {
  const Tensor x = leaf({0.5, -1}), w = leaf({2, 3});
  int runs = 0;
  const Function f = [&](const Tensor& t) {
    ++runs;
    return sin(t * w) * t;
  };
  sum(f(x)).backward();
  const std::vector<float> of_x = values(x.grad()), of_w = values(w.grad());
  x.set_grad({});
  w.set_grad({});
  sum(reentrant(x, f) * 1).backward();
  expect_equal(runs, 3);
  expect_near(values(x.grad()), of_x);
  expect_near(values(w.grad()), of_w);
  // Mixed with the checkpoint of the library, one in the other.
  x.set_grad({});
  w.set_grad({});
  sum(checkpoint([&](Tensor t) { return reentrant(t, f); })(x)).backward();
  expect_near(values(x.grad()), of_x);
  expect_near(values(w.grad()), of_w);
}

TEST("backward goes deep, and each run has its own callbacks and order") {
  const Tensor x = leaf({1});
  Function f = [](const Tensor& t) { return t * 2; };
  constexpr int depth = 300;
  for (int i = 0; i < depth; ++i) f = [inner = f](const Tensor& t) { return reentrant(t, inner) + t; };
  sum(f(x)).backward();
  expect_near(values(x.grad()), {depth + 2.0});

  std::string order;
  const auto say = [&order](const char* what) { return [&order, what](const auto&...) { order += std::string(what) + " "; }; };
  const Tensor a = leaf({1}), b = leaf({1});
  a.register_post_accumulate_grad_hook(say("a"));
  b.register_post_accumulate_grad_hook(say("b"));
  const Tensor outer = a * 3;
  outer.register_hook([&](Tensor) {
    autograd::queue_callback(say("outer"));
    const EnableGrad records;
    const Tensor inner = b * 2;
    inner.register_hook([&](Tensor) { autograd::queue_callback(say("inner")); });
    inner.backward();
  });
  outer.backward();
  expect_equal(order, "b inner a outer ");
}

TEST("an error in an inner backward ends the outer one, and both leave nothing behind") {
  const Tensor x = leaf({1, 2});
  bool fails = true;
  const Function f = [&](const Tensor& t) {
    const Tensor y = exp(t);
    if (!y.requires_grad()) return y;  // the forward of the checkpoint
    y.register_hook([&](Tensor) {
      if (fails) throw std::runtime_error("stop");
    });
    return y;
  };
  const auto run = [&] {
    const Tensor y = x * 2;
    sum(reentrant(y, f)).backward();
  };
  expect_error(run, "stop");
  fails = false;
  run();
  expect_near(values(x.grad()), {2 * std::exp(2.0f), 2 * std::exp(4.0f)}, 1e-5);
  expect_error([] { autograd::queue_callback([] {}); }, "no backward runs on this thread");
}
