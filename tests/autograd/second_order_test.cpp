// Gradients of gradients in typical uses: a gradient penalty, a Hessian-vector product, a step of MAML. Eagerly,
// through a jitted function, and through a part of each. The expected values are PyTorch's, in f64.
#include <functional>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

/// Sines of evenly spaced numbers.
Tensor sines(double start, double step, const Shape& shape) {
  const Tensor places = arange(0, shape.numel(), 1, {.dtype = Dtype::f64});
  return sin(places * step + start).reshape(shape);
}

using Network = std::function<Tensor(Tensor, Tensor, Tensor)>;

Tensor network(Tensor x, Tensor w1, Tensor w2) {
  const Tensor hidden = tanh(matmul(x, w1));
  return matmul(hidden, w2);
}

/// The same function in ways that must not matter.
std::vector<std::pair<std::string, Network>> networks() {
  const auto compiled = jit(network);
  const auto first_half = jit([](Tensor x, Tensor w1) { return tanh(matmul(x, w1)); });
  const auto second_half = jit([](Tensor hidden, Tensor w2) { return matmul(hidden, w2); });
  return {{"eager", network},
          {"jitted", [compiled](Tensor x, Tensor w1, Tensor w2) { return compiled(x, w1, w2); }},
          {"first half jitted", [first_half](Tensor x, Tensor w1, Tensor w2) { return matmul(first_half(x, w1), w2); }},
          {"second half jitted",
           [second_half](Tensor x, Tensor w1, Tensor w2) { return second_half(tanh(matmul(x, w1)), w2); }}};
}

struct Inputs {
  Tensor x = sines(0, 0.7, {3, 4}).requires_grad_();
  Tensor w1 = sines(1, 0.3, {4, 5}).requires_grad_();
  Tensor w2 = sines(2, 0.9, {5, 1}).requires_grad_();
};

/// One number for a gradient of w1.
double weighed(const Tensor& gradient) { return sum(gradient * sines(3, 0.2, {4, 5})).item<double>(); }

void expect_numbers(const std::string& name, const std::vector<double>& actual, const std::vector<double>& expected) {
  expect(actual.size() == expected.size(), name);
  for (size_t i = 0; i < actual.size(); ++i)
    expect(std::fabs(actual[i] - expected[i]) <= 1e-6 * std::max(1.0, std::fabs(expected[i])),
           name + ": " + std::to_string(actual[i]) + " for " + std::to_string(expected[i]));
}

std::vector<double> with(double first, double second, const Tensor& rest) {
  std::vector<double> all = rest.detach().reshape({-1}).to_vector<double>();
  all.insert(all.begin(), {first, second});
  return all;
}

}  // namespace

TEST("a penalty on the gradient of a network") {
  for (const auto& [name, f] : networks()) {
    const Inputs in;
    const Tensor gradient = autograd::grad(sum(f(in.x, in.w1, in.w2)), in.x, {}, {.create_graph = true})[0];
    const Tensor length = sqrt(sum(gradient * gradient));
    const Tensor penalty = square(length - 1);
    penalty.backward();
    expect_numbers(name, with(penalty.item<double>(), weighed(in.w1.grad()), in.w2.grad()),
                   {0.4986292636533288, 0.06938852676329432, -0.17941784768966054, -0.3843699773071248,
                    -0.6435295704629089, -1.0958797775182616, -1.861483402611929});
  }
}

TEST("the Hessian times a vector") {
  for (const auto& [name, f] : networks()) {
    const Inputs in;
    const Tensor loss = sum(square(f(in.x, in.w1, in.w2)));
    const Tensor gradient = autograd::grad(loss, in.w1, {}, {.create_graph = true})[0];
    const std::vector<Tensor> product = autograd::grad(sum(gradient * sines(4, 0.5, {4, 5})), {in.w1, in.w2});
    expect_numbers(name, with(0, weighed(product[0]), product[1]),
                   {0, 0.9824214302351413, 1.0070789702061052, 1.1841136323891441, 1.3287631257462333,
                    1.4870527525399502, 1.64568129665202});
  }
}

TEST("a step of MAML") {
  for (const auto& [name, f] : networks()) {
    const Inputs in;
    const Tensor inner = sum(square(f(in.x, in.w1, in.w2)));
    const std::vector<Tensor> gradients = autograd::grad(inner, {in.w1, in.w2}, {}, {.create_graph = true});
    const Tensor w1 = in.w1 - gradients[0] * 0.1, w2 = in.w2 - gradients[1] * 0.1;
    const Tensor outer = mean(square(f(in.x.detach() * 0.5, w1, w2) - sines(5, 1.1, {3, 1})));
    outer.backward();
    expect_numbers(name, with(outer.item<double>(), weighed(in.w1.grad()), in.w2.grad()),
                   {1.3688497550068843, 0.6875446137661003, -0.890053143365344, -1.0477685178023741,
                    -1.2491244979730984, -1.4775509388656756, -1.4111548525587423});
  }
}

TEST("the second derivative of a similarity beside a zero vector is finite") {
  const Tensor x = tensor({{5.0, 5.0, -5.0}}).requires_grad_(), zero = zeros({1, 3}).requires_grad_();
  const std::vector<Tensor> first =
      autograd::grad(sum(nn::cosine_similarity(x, zero, 1)), {x, zero}, {}, {.create_graph = true});
  const Tensor second = autograd::grad(sum(first[1]), x, {}, {.retain_graph = true})[0];
  expect_near((second / 7698003.0).to_vector<float>(), {1, 1, 2}, 1e-5);
  const Tensor own = autograd::grad(sum(first[0]), zero)[0];
  expect_near((own / 7698003.0).to_vector<float>(), {1, 1, 2}, 1e-5);
}

TEST("gradients through norms of zero are zero, and the second ones where they are finite") {
  const Tensor x = zeros({3}, {.dtype = Dtype::f64}).requires_grad_();
  for (const double order : {2.0, 3.0, 1.5}) {
    const Tensor slope = autograd::grad(linalg::vector_norm(x, order), x, {}, {.create_graph = true})[0];
    expect_equal(slope.detach().to_vector<double>(), std::vector<double>{0, 0, 0});
    if (order < 2) continue;  // the second derivative of |x|^1.5 is infinite at 0
    const Tensor again = autograd::grad(sum(slope * slope), x, {}, {.allow_unused = true})[0];
    expect(!again.defined() || all(again == 0.0).item<bool>());
  }
}
