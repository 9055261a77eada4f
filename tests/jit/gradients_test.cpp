#include <fulgurite/fulgurite.h>

#include "support/test.h"

namespace fulgurite {

namespace {

struct Parameters {
  Tensor weight, bias;
  int width = 2;
};

Tensor loss(Parameters p, Tensor x) { return sum(tanh(x * p.weight + p.bias)); }

}  // namespace

TEST("grad gives a gradient of the argument's type") {
  const Parameters p{tensor({0.5, -0.5}), tensor({0.1, 0.2})};
  const Tensor x = tensor({1.0, 2.0});
  const Parameters g = grad(loss)(p, x);
  const Tensor slope = 1 - square(tanh(x * p.weight + p.bias));
  expect_near(g.bias.to_vector<float>(), slope.to_vector<float>());
  expect_near(g.weight.to_vector<float>(), (slope * x).to_vector<float>());
  expect_equal(g.width, 2);
  const Parameters compiled = jit(grad(loss))(p, x);
  expect_near(compiled.weight.to_vector<float>(), g.weight.to_vector<float>());
}

TEST("grad of several arguments is a tuple; value_and_grad gives the result too") {
  const auto f = [](Tensor x, double s, Tensor y) { return std::tuple(sum(x * y * s), x + y); };
  const Tensor x = tensor({1.0, 2.0}), y = tensor({3.0, 4.0});
  const auto [dx, dy] = grad<0, 2>(f)(x, 2, y);
  expect_near(dx.to_vector<float>(), {6, 8});
  expect_near(dy.to_vector<float>(), {2, 4});
  const auto step = jit(value_and_grad<2>(f));
  const auto [result, gradient] = step(x, 2, y);
  expect_near(std::get<0>(result).item<double>(), 22);
  expect_near(std::get<1>(result).to_vector<float>(), {4, 6});
  expect_near(gradient.to_vector<float>(), {2, 4});
}

TEST("gradients of gradients") {
  const auto cube = [](Tensor x) { return x * x * x; };
  const Tensor x = tensor(2.0);
  expect_near(grad(cube)(x).item<double>(), 12);
  expect_near(grad(grad(cube))(x).item<double>(), 12);
  expect_near(grad(grad(grad(cube)))(x).item<double>(), 6);
  expect_near(jit(grad(jit(grad(cube))))(x).item<double>(), 12);
  const auto of_lambda = jit([=](Tensor t) { return grad(cube)(t) * 2; });
  expect_near(of_lambda(x).item<double>(), 24);
}

TEST("grad inside eager autograd carries history") {
  const Tensor x = tensor(3.0).requires_grad_();
  const Tensor slope = grad([](Tensor t) { return t * t * t; })(x);
  expect_near(slope.item<double>(), 27);
  slope.backward();
  expect_near(x.grad().item<double>(), 18);
}

TEST("captured tensors and unused arguments have no part in grad") {
  const Tensor w = tensor({2.0, 3.0}).requires_grad_();
  const auto f = [&](Tensor x, Tensor unused, Tensor index) {
    (void)unused;
    (void)index;
    return sum(x * w);
  };
  const auto [dx, dunused, dindex] = grad<0, 1, 2>(f)(ones({2}), ones({3}), arange(2));
  expect_near(dx.to_vector<float>(), {2, 3});
  expect_near(dunused.to_vector<float>(), {0, 0, 0});
  expect_equal(dindex.dtype(), Dtype::i64);
  expect(!w.grad().defined());
}

TEST("grad works where gradients are off") {
  const NoGrad no_grad;
  expect_near(grad([](Tensor x) { return sum(x * x); })(ones({2})).to_vector<float>(), {2, 2});
}

TEST("vjp pulls a cotangent of the result's type back") {
  const auto [y, pullback] =
      vjp([](Tensor a, int n, Tensor b) { return std::pair(a * b, a * n); }, tensor({1.0, 2.0}), 3, tensor({4.0, 5.0}));
  expect_near(y.first.to_vector<float>(), {4, 10});
  const auto [da, n, db] = pullback({ones({2}), ones({2})});
  expect_near(da.to_vector<float>(), {7, 8});
  expect_equal(n, 3);
  expect_near(db.to_vector<float>(), {1, 2});
}

TEST("grad needs a scalar") {
  expect_error([] { grad([](Tensor x) { return x * 2; })(ones({2})); }, "must return a scalar floating tensor");
  expect_error([] { grad([](Tensor x) { return sum(x); })(arange(3)); },
               "what is differentiated has no floating tensor, only cpu i64[3]");
  expect_error([] { grad([](Tensor x) { return sum(x.add_(1)); })(ones({2})); },
               "a leaf tensor that requires grad is written in place: t_0");
  expect_error(
      [] {
        const auto pulled = vjp([](Tensor x) { return x * 2; }, ones({2}));
        pulled.second(ones({3}));
      },
      "the cotangent is cpu f32[3]");
}

TEST("checkpoint recomputes in the backward of a jitted function") {
  const auto inner = [](Tensor x) { return sin(cos(x)); };
  const Tensor x = tensor({0.3, 0.6}).requires_grad_();
  const auto f = jit([=](Tensor t) { return sum(checkpoint(inner)(t)); });
  f(x).backward();
  const Tensor y = x.detach().clone().requires_grad_();
  sum(inner(y)).backward();
  expect_near(x.grad().to_vector<float>(), y.grad().to_vector<float>());
  int cosines = 0;
  const std::vector<Trace> traces = last_backward_traces(f);
  for (const BoundSymbol& bound : traces.front().bound_symbols)
    cosines += bound.name() == "cos" && bound.forward.at(0).part == ForwardOrigin::Part::recomputation;
  expect_equal(cosines, 1);
}

TEST("trace records and does not run") {
  const Trace t = trace([](Tensor x, double s) { return exp(x) * s; }, ones({2}), 3);
  expect_text(t.python({.time = false, .source = false}), R"(
import torch

@torch.no_grad()
def computation(t_0):
  # t_0: "cpu f32[2]"
  t0 = torch.exp(t_0)  # t0: "cpu f32[2]"
  t1 = torch.mul(t0, 3.0)  # t1: "cpu f32[2]"
  return t1
)");
}

TEST("a function of integers alone has no gradient") {
  const auto doubled = [](Tensor x) { return sum(x * 2.0); };
  const std::string said =
      "grad: what is differentiated has no floating tensor, only cpu i64[2], and integers have no gradient";
  expect_error([&] { grad(doubled)(tensor({5, 6})); }, said);
  expect_error([&] { jit([&](Tensor x) { return grad(doubled)(x); })(tensor({5, 6})); }, said);
  expect_error(
      [&] {
        value_and_grad(doubled)(tensor({5, 6}));
      },
      "value_and_grad: what is differentiated has no floating tensor");
  expect_error([&] { vjp(doubled, tensor({true})); },
               "vjp: what is differentiated has no floating tensor, only cpu bool[1]");
  // Beside a floating tensor an integer one is given back.
  const auto both = [](std::pair<Tensor, Tensor> x) { return sum(x.first * x.second); };
  const auto [slope, places] = grad(both)(std::pair(tensor({1.0, 2.0}), tensor({5, 6})));
  expect_equal(slope.to_vector<float>(), std::vector<float>{5, 6});
  expect_equal(places.to_vector<int64_t>(), std::vector<int64_t>{5, 6});
}

}  // namespace fulgurite
