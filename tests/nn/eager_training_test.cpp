// Eager training: accumulation over batches, parameter groups, f16 with a scaled loss, and the same steps traced.
#include <cmath>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

namespace {

std::vector<float> values(const Tensor& t) { return t.detach().to(Dtype::f32).contiguous().to_vector<float>(); }

struct Network {
  nn::Linear first, second;
  Tensor operator()(const Tensor& x) const { return second(tanh(first(x))); }
};

Network make_network() {
  manual_seed(7);
  return {nn::Linear(4, 8), nn::Linear(8, 2)};
}
Tensor loss_of(const Network& network, const Tensor& x, const Tensor& y) {
  const Tensor error = network(x) - y;
  return mean(error * error);
}
std::pair<Tensor, Tensor> samples() {
  manual_seed(8);
  const Tensor x = randn({16, 4});
  return {x, sin(x(Slice(), Slice(0, 2)))};
}

}  // namespace

TEST("gradients of micro-batches add up to those of the batch, in the leaf's own tensor") {
  const Network network = make_network();
  const auto both = samples();
  const Tensor x = both.first, y = both.second;
  loss_of(network, x, y).backward();
  std::vector<std::vector<float>> expected;
  for (const Tensor& parameter : nn::parameters(network)) {
    expected.push_back(values(parameter.grad()));
    parameter.set_grad({});
  }
  Tensor held;
  for (int i = 0; i < 4; ++i) {
    const Slice rows(4 * i, 4 * i + 4);
    const Tensor loss = loss_of(network, x(rows), y(rows)) / 4;
    loss.backward();
    if (i == 0) held = network.first.weight.grad();
  }
  size_t i = 0;
  for (const Tensor& parameter : nn::parameters(network)) expect_near(values(parameter.grad()), expected[i++], 1e-5);
  expect(held.is_same(network.first.weight.grad()), "whoever holds the gradient sees the sum");
}

TEST("zero_grad takes gradients away, or fills them with zeros where they are") {
  const Network network = make_network();
  const auto both = samples();
  const Tensor x = both.first, y = both.second;
  optim::SGD optimizer(nn::parameters(network), {.lr = 0.1});
  loss_of(network, x, y).backward();
  const Tensor gradient = network.first.weight.grad();
  const std::vector<float> once = values(gradient);
  optimizer.zero_grad(false);
  expect(network.first.weight.grad().is_same(gradient));
  expect_near(values(gradient), std::vector<float>(32, 0.0f));
  loss_of(network, x, y).backward();
  expect_near(values(gradient), once);
  optimizer.zero_grad();
  expect(!network.first.weight.grad().defined());
  const std::vector<float> before = values(network.first.weight);
  optimizer.step();  // nothing to do
  expect_near(values(network.first.weight), before);
}

TEST("eager training, a jitted loss in it, and a traced step go the same way") {
  const auto both = samples();
  const Tensor x = both.first, y = both.second;
  const auto train = [&](int way) {
    Network network = make_network();
    const std::vector<optim::ParameterGroup<optim::AdamWOptions>> groups{
        {{network.first.weight, network.second.weight}, {.lr = 0.02, .weight_decay = 0.1}},
        {{network.first.bias, network.second.bias}, {.lr = 0.05, .weight_decay = 0}}};
    optim::AdamW optimizer(groups);
    const auto jitted = jit(loss_of);
    auto traced = jit([&](Tensor inputs, Tensor targets) {
      const auto [loss, gradients] = value_and_grad<0>(loss_of)(network, inputs, targets);
      optimizer.step({network.first.weight, network.second.weight, network.first.bias, network.second.bias},
                     {gradients.first.weight, gradients.second.weight, gradients.first.bias, gradients.second.bias});
      return loss;
    });
    std::vector<double> losses;
    for (int i = 0; i < 20; ++i) {
      if (way == 2) {
        const NoGrad no_grad;
        losses.push_back(traced(x, y).item<double>());
        continue;
      }
      const Tensor loss = way == 0 ? loss_of(network, x, y) : jitted(network, x, y);
      loss.backward();
      optimizer.step();
      optimizer.zero_grad();
      losses.push_back(loss.item<double>());
    }
    return losses;
  };
  const std::vector<double> eager = train(0);
  expect_less(eager.back(), 0.5 * eager.front());
  expect_near(train(1), eager, 1e-5);
  expect_near(train(2), eager, 1e-5);
}

TEST("an f16 model trains with a scaled loss") {
  Network network = make_network();
  nn::to(network, Dtype::f16);
  auto [x, y] = samples();
  x = x.to(Dtype::f16);
  y = y.to(Dtype::f16);
  optim::SGD optimizer(nn::parameters(network), {.lr = 0.2});
  optim::GradScaler scaler({.init_scale = 1024});
  double first = 0, last = 0;
  for (int i = 0; i < 60; ++i) {
    optimizer.zero_grad();
    const Tensor error = (network(x) - y).to(Dtype::f32);
    const Tensor loss = mean(error * error);
    scaler.scale(loss).backward();
    scaler.step(optimizer);
    scaler.update();
    last = loss.item<double>();
    if (i == 0) first = last;
  }
  expect(std::isfinite(last) && last < 0.5 * first);
}
