// Tensors written while gradients are off keep their history: the gradients are PyTorch's.
#include <functional>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

using Function = std::function<Tensor(Tensor)>;

/// The gradient of f at 1, 2, 3, where f may write into its argument.
std::vector<float> gradient(const Function& f) {
  const Tensor x = tensor({1.0, 2.0, 3.0}).requires_grad_();
  f(x).backward();
  return x.grad().to_vector<float>();
}

/// Eager, jitted, and with graph breaks.
void expect_gradient(const Function& f, const std::vector<float>& expected,
                     SourceLocation at = SourceLocation::here()) {
  expect_equal(gradient(f), expected, at);
  const auto compiled = jit(f);
  for (int call = 0; call < 2; ++call) expect_equal(gradient(compiled), expected, at);
  const auto has_graph_breaks = jit([&](Tensor x) {
    const Tensor y = f(x);
    graph_break();
    return y * 1;
  });
  for (int call = 0; call < 2; ++call) expect_equal(gradient(has_graph_breaks), expected, at);
}

}  // namespace

TEST("a value that is written without gradients keeps its history") {
  expect_gradient(
      [](Tensor x) {
        const Tensor w = x * 2;
        {
          const NoGrad no_grad;
          w.add_(1);
        }
        return sum(w * w);
      },
      {12, 20, 28});
  expect_gradient(
      [](Tensor x) {
        const Tensor w = x * 2;
        const Tensor before = exp(w * 0);
        {
          const NoGrad no_grad;
          w.copy_(x * 7);
        }
        return sum(w * w * before);
      },
      {28, 56, 84});
}

TEST("so does what is written through a view of it, and the view") {
  expect_gradient(
      [](Tensor x) {
        const Tensor w = x * 2;
        const Tensor v = w(0);
        {
          const NoGrad no_grad;
          v.zero_();
        }
        const Tensor whole = sum(w * w);
        return whole + v * 5;
      },
      {10, 16, 24});
  expect_gradient(
      [](Tensor x) {
        const Tensor w = x * 2;
        const Tensor v = w(Slice(0, 2));
        {
          const NoGrad no_grad;
          w.mul_(10);
        }
        return sum(v * v);
      },
      {80, 160, 0});
  expect_gradient(
      [](Tensor x) {
        const Tensor w = x * 2;
        {
          const NoGrad no_grad;
          w(Slice(0, 2)).zero_();
        }
        return sum(w * w);
      },
      {0, 0, 24});
}

TEST("a leaf that is written without gradients has that of its new value") {
  expect_gradient(
      [](Tensor x) {
        {
          const NoGrad no_grad;
          x.add_(1);
        }
        return sum(x * x);
      },
      {4, 6, 8});
}

TEST("a write through detach() changes values alone") {
  expect_gradient(
      [](Tensor x) {
        const Tensor w = x * 2;
        w.detach().add_(1);
        return sum(w * w);
      },
      {12, 20, 28});
  expect_gradient(
      [](Tensor x) {
        const Tensor w = x * 2;
        const Tensor d = w.detach();
        d.add_(1);
        return sum(w * d);
      },
      {6, 10, 14});
  expect_gradient(
      [](Tensor x) {
        x.detach().mul_(2);
        return sum(x * x);
      },
      {4, 8, 12});
}

TEST("a tensor without history gets none while gradients are off") {
  expect_gradient(
      [](Tensor x) {
        const Tensor w = zeros({3});
        {
          const NoGrad no_grad;
          w.copy_(x);
        }
        return sum(w * x);
      },
      {1, 2, 3});
}

TEST("a view that is read without gradients after a write has them when it is read with them") {
  expect_gradient(
      [](Tensor x) {
        const Tensor w = x * 2;
        const Tensor v = w(Slice(0, 2));
        w.mul_(3);
        Tensor seen;
        {
          const NoGrad no_grad;
          seen = v * 1;
        }
        return sum(v * v) + sum(seen);
      },
      {72, 144, 0});
}

TEST("gradients inside a jitted function see the same") {
  const auto f = [](Tensor x) {
    const Tensor w = x * 2;
    {
      const NoGrad no_grad;
      w.add_(1);
    }
    return sum(w * w);
  };
  const Tensor x = tensor({1.0, 2.0, 3.0});
  expect_near(grad(f)(x).to_vector<float>(), {12, 20, 28});
  expect_near(jit(grad(f))(x).to_vector<float>(), {12, 20, 28});
}

TEST("parameters that a traced step updates have no op for an unread history") {
  const Tensor w = ones({2}).requires_grad_();
  const auto step = jit([&](Tensor x) {
    const NoGrad no_grad;
    w.sub_(x * 0.5);
  });
  step(ones({2}));
  expect_near(w.to_vector<float>(), {0.5, 0.5});
  expect_trace(last_traces(step).front(), R"(
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

void computation(Tensor t_0, Tensor t_1) {
  // t_0: "cpu f32[2]"
  // t_1: "cpu f32[2]"
  auto t0 = mul(t_0, 0.5);  // t0: "cpu f32[2]"
  auto t1 = sub(t_1, t0);  // t1: "cpu f32[2]"
  auto t2 = prims::copy_(t1, t_1);  // t2: "cpu f32[2]"
  return;
}
)");
  const auto read = jit([](Tensor x) {
    {
      const NoGrad no_grad;
      x.add_(1);
    }
    return x * x;
  });
  read(ones({2}).requires_grad_());
  expect_trace(last_traces(read).front(), R"(
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

Tensor computation(Tensor t_0) {
  // t_0: "cpu f32[2]"
  auto t0 = add(t_0, 1);  // t0: "cpu f32[2]"
  auto t1 = prims::with_history(t0, t_0);  // t1: "cpu f32[2]"
  auto t2 = mul(t1, t1);  // t2: "cpu f32[2]"
  auto t3 = prims::copy_(t0, t_0);  // t3: "cpu f32[2]"
  return t2;
}
)");
}
