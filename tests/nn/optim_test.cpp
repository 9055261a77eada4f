#include <fulgurite/autograd.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>
#include <fulgurite/optim.h>

#include "support/test.h"

using namespace fulgurite;

namespace {
Tensor leaf(std::vector<float> values) { return tensor(values).requires_grad_(); }
std::vector<float> values(const Tensor& t) { return t.contiguous().to_vector<float>(); }
void step(optim::Optimizer& optimizer, const Tensor& x) {
  optimizer.zero_grad();
  sum(x * x).backward();
  optimizer.step();
}
}  // namespace

TEST("AdamW steps as PyTorch's does") {
  const Tensor x = leaf({1, -2});
  optim::AdamW optimizer({x}, {.lr = 0.1, .betas = {0.9, 0.99}, .weight_decay = 0.1});
  step(optimizer, x);
  expect_near(values(x), {0.89, -1.88}, 1e-6);
  step(optimizer, x);
  expect_near(values(x), {0.7815457, -1.7613950}, 1e-6);
  expect_near(optimizer.state_dict().at("0.step").item<double>(), 2);
}

TEST("Adam counts decay as part of the gradient") {
  const Tensor x = leaf({1});
  optim::Adam optimizer({x}, {.lr = 0.1, .weight_decay = 0.5});
  step(optimizer, x);
  expect_near(values(x), {0.9}, 1e-6);
  expect_near(values(optimizer.state_dict().at("0.exp_avg")), {0.25}, 1e-6);
}

TEST("SGD steps with momentum, decay and Nesterov's look ahead") {
  const Tensor x = leaf({1});
  optim::SGD plain({x}, {.lr = 0.1});
  step(plain, x);
  expect_near(values(x), {0.8}, 1e-6);
  const Tensor y = leaf({1});
  optim::SGD momentum({y}, {.lr = 0.1, .momentum = 0.9});
  step(momentum, y);  // buffer 2
  step(momentum, y);  // buffer 1.8 + 1.6
  expect_near(values(y), {0.46}, 1e-6);
  const Tensor z = leaf({1});
  optim::SGD nesterov({z}, {.lr = 0.1, .momentum = 0.9, .weight_decay = 1, .nesterov = true});
  step(nesterov, z);  // gradient 3, 3 + 0.9 * 3
  expect_near(values(z), {0.43}, 1e-6);
}

TEST("groups have options of their own") {
  const Tensor w = ones({2, 2}).requires_grad_(), b = ones({2}).requires_grad_();
  optim::AdamW optimizer(optim::decay_matrices_only({w, b}, {.lr = 0.1, .weight_decay = 0.5}));
  w.set_grad(zeros({2, 2}));
  b.set_grad(zeros({2}));
  optimizer.step();
  expect_near(values(w), {0.95, 0.95, 0.95, 0.95});
  expect_near(values(b), {1, 1});
}

TEST("gradients may be given") {
  const Tensor a = leaf({1}), b = leaf({1});
  optim::SGD optimizer({a, b}, {.lr = 1});
  optimizer.step({tensor(std::vector<float>{1}), Tensor()});
  expect_near(values(a), {0});
  expect_near(values(b), {1});
  optimizer.step({b}, {tensor(std::vector<float>{1})});
  expect_near(values(b), {0});
  expect_error([&] { optimizer.step(std::vector<Tensor>{Tensor()}); }, "1 gradients for 2 parameters");
}

TEST("clipping brings the norm of all gradients to the limit") {
  const Tensor a = leaf({0}), b = leaf({0});
  a.set_grad(tensor(std::vector<float>{3}));
  b.set_grad(tensor(std::vector<float>{4}));
  expect_near(optim::clip_grad_norm_({a, b}, 1.0).item<double>(), 5);
  expect_near(values(a.grad()), {0.6});
  optim::clip_grad_norm_({a, b}, 10.0);
  expect_near(values(b.grad()), {0.8});
  const auto [clipped, norm] = optim::clip_grad_norm({a.grad(), b.grad()}, 0.5);
  expect_near(norm.item<double>(), 1);
  expect_near(values(clipped[1]), {0.4});
}

TEST("the cosine schedule rises, falls and stays") {
  const Tensor x = leaf({1});
  optim::AdamW optimizer({x}, {.lr = 1e-3});
  optim::CosineSchedule schedule(optimizer, {.warmup = 100, .steps = 2000, .min_lr = 1e-4});
  expect_near(optimizer.learning_rate(), 1e-3 / 101, 1e-9);
  schedule.step();
  expect_near(optimizer.learning_rate(), 2e-3 / 101, 1e-9);
  expect_near(schedule.learning_rate(100), 1e-3, 1e-9);
  expect_near(schedule.learning_rate(1050), 5.5e-4, 1e-9);
  expect_near(schedule.learning_rate(5000), 1e-4, 1e-9);
}

TEST("an optimizer's state goes on where it stopped") {
  const Tensor x = leaf({1, -2}), y = leaf({1, -2});
  optim::AdamW one({x}, {.lr = 0.1}), two({y}, {.lr = 0.5});
  step(one, x);
  {
    const NoGrad no_grad;
    y.copy_(x);
  }
  two.load_state_dict(one.state_dict());
  step(one, x);
  step(two, y);
  expect(values(x) == values(y));
  expect_error([&] { two.load_state_dict({}); }, "is missing");
}
