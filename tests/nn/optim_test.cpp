#include <cmath>

#include <fulgurite/autograd.h>
#include <fulgurite/error.h>
#include <fulgurite/jit.h>
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
  expect_equal(values(x), values(y));
  expect_error([&] { two.load_state_dict({}); }, "is missing");
}

TEST("a schedule made after loading a state goes on as the first one did") {
  const Tensor x = leaf({1});
  const optim::CosineOptions options{.warmup = 2, .steps = 100, .min_lr = 1e-3};
  optim::AdamW first({x}, {.lr = 0.1});
  expect(!first.state_dict().contains("groups.0.initial_lr"), "there was no schedule yet");
  optim::CosineSchedule schedule(first, options);
  schedule.set_iteration(60);
  std::map<std::string, Tensor> state;
  for (const auto& [name, tensor] : first.state_dict()) state[name] = tensor.clone();
  expect_near(state.at("groups.0.initial_lr").item<double>(), 0.1, 1e-7);
  schedule.step();

  optim::AdamW second({x}, {.lr = 0.1});
  second.load_state_dict(state);
  optim::CosineSchedule resumed(second, options);
  resumed.set_iteration(61);
  expect_equal(second.learning_rate(), first.learning_rate());
  expect_equal(resumed.learning_rate(2), schedule.learning_rate(2));

  state.erase("groups.0.initial_lr");  // as checkpoints were written before
  optim::AdamW third({x}, {.lr = 0.1});
  optim::CosineSchedule before(third, options);
  third.load_state_dict(state);
  before.set_iteration(61);
  expect_equal(third.learning_rate(), first.learning_rate());
}

TEST("a rate that is set is where later schedules start") {
  const Tensor x = leaf({1});
  optim::SGD optimizer({x}, {.lr = 0.5});
  optim::CosineSchedule schedule(optimizer, {.steps = 10});
  schedule.set_iteration(5);
  optim::CosineSchedule same(optimizer, {.steps = 20});
  expect_near(same.learning_rate(0), 0.5);
  optimizer.set_learning_rate(0.25);
  optim::CosineSchedule other(optimizer, {.steps = 20});
  expect_near(other.learning_rate(0), 0.25);
}

TEST("a schedule's state goes on where it stopped") {
  const Tensor x = leaf({1}), y = leaf({1});
  optim::SGD one({x}, {.lr = 0.5}), two({y}, {.lr = 9});
  optim::CosineSchedule schedule(one, {.steps = 10}), other(two, {.steps = 10});
  schedule.set_iteration(7);
  other.load_state_dict(schedule.state_dict());
  expect_equal(other.iteration(), 7);
  expect_equal(two.learning_rate(), one.learning_rate());
  expect_error([&] { other.load_state_dict({}); }, "there is no \"iteration\"");
  expect_error(
      [&] {
        other.load_state_dict({{"iteration", tensor(-3)}, {"initial_lr", tensor({0.5})}});
      },
      "the iteration must be at least 0, not -3");
  expect_error(
      [&] {
        other.load_state_dict({{"iteration", tensor(3)}, {"initial_lr", tensor({0.5, 0.5})}});
      },
      "the optimizer has 1 groups");
}

TEST("parameters of f64 are trained with rates, counts and norms of f64") {
  const Tensor w = zeros({2}, {.dtype = Dtype::f64}).requires_grad_();
  optim::SGD descent({w}, {.lr = 0.001});
  expect_equal(descent.learning_rate(), 0.001);
  sum(w * -1.0).backward();
  descent.step();
  expect_equal(w.detach().to_vector<double>(), std::vector<double>{0.001, 0.001});
  descent.set_learning_rate(0.003);
  expect_equal(descent.learning_rate(), 0.003);
  optim::AdamW adam({w}, {.lr = 0.001});
  expect(adam.state_dict().at("0.step").dtype() == Dtype::f64 &&
         adam.state_dict().at("groups.0.lr").dtype() == Dtype::f64);
  expect_equal(optim::AdamW({leaf({1})}).state_dict().at("groups.0.lr").dtype(), Dtype::f32);
  for (const double size : {1e30, 1e-30}) {
    w.set_grad(tensor({3 * size, 4 * size}, {.dtype = Dtype::f64}));
    expect_near(optim::clip_grad_norm_({w, leaf({1})}, 1.0).item<double>() / size, 5, 1e-12);
    expect_near(w.grad()(0).item<double>(), size > 1 ? 0.6 : 3 * size, 1e-12);
    const Tensor single = tensor(3.0f);
    const auto [clipped, norm] =
        optim::clip_grad_norm({tensor({3 * size, 4 * size}, {.dtype = Dtype::f64}), single}, 1.0);
    expect(norm.dtype() == Dtype::f64 && clipped[0].dtype() == Dtype::f64 && clipped[1].dtype() == Dtype::f32);
  }
}

TEST("AdamW in f64 takes the same step by its kernel and by its parts") {
  const auto trained = [](const std::vector<std::string>& executors) {
    const Tensor w = tensor({1.0, -2.0}, {.dtype = Dtype::f64}).requires_grad_();
    optim::AdamW optimizer({w}, {.lr = 0.001});
    const auto step = jit(
        [&](Tensor gradient) {
          optimizer.step({gradient});
          return w * 1.0;
        },
        {.executors = executors});
    for (int i = 0; i < 3; ++i) step(tensor({0.3, 1e-3}, {.dtype = Dtype::f64}));
    return w.detach().to_vector<double>();
  };
  expect_near(trained({"fuser", "eager"}), trained({"eager"}), 1e-14);
}

TEST("settings that make no sense are refused") {
  const std::vector<Tensor> w = {leaf({1})};
  using namespace optim;
  const double nan = std::nan("");
  expect_error([&] { SGD(w, {.lr = -0.1}); },
               "SGD: invalid learning rate lr: -0.1; it must be a finite number of at least 0");
  expect_error([&] { SGD(w, {.lr = nan}); }, "SGD: invalid learning rate lr: nan");
  expect_error([&] { SGD(w, {.momentum = -1}); }, "SGD: invalid momentum value: -1.0");
  expect_error([&] { SGD(w, {.dampening = nan}); }, "SGD: invalid dampening value: nan");
  expect_error([&] { SGD(w, {.weight_decay = -1}); }, "SGD: invalid weight_decay value: -1.0");
  expect_error([&] { SGD(w, {.nesterov = true}); },
               "SGD: Nesterov momentum requires a momentum and zero dampening, not momentum 0.0");
  expect_error([&] { SGD(w, {.momentum = 0.9, .dampening = 0.5, .nesterov = true}); },
               "and dampening 0.5; set them, or nesterov to false");
  expect_error([&] { Adam(w, {.lr = -1}); }, "Adam: invalid learning rate lr: -1.0");
  expect_error(
      [&] {
        Adam(w, {.betas = {1.0, 0.9}});
      },
      "Adam: invalid beta parameter at index 0: 1.0; it must be from 0 to below 1");
  expect_error([&] { AdamW(w, {.betas = {0.9, -0.1}}); }, "AdamW: invalid beta parameter at index 1: -0.1");
  expect_error([&] { AdamW(w, {.betas = {nan, 0.9}}); }, "AdamW: invalid beta parameter at index 0: nan");
  expect_error([&] { AdamW(w, {.eps = -1e-8}); }, "AdamW: invalid epsilon value eps: -1e-08");
  expect_error([&] { AdamW(w, {.weight_decay = -1}); }, "AdamW: invalid weight_decay value: -1.0");
  expect_error([&] { AdamW({{w, {.lr = 0.1}}, {{leaf({2})}, {.lr = nan}}}); }, "AdamW: invalid learning rate lr: nan");
  SGD optimizer(w, {.lr = 1});
  expect_error([&] { optimizer.set_learning_rate(nan); }, "set_learning_rate: invalid rate: nan");
  expect_error([&] { optimizer.set_learning_rate(3, 0.1); }, "there is no group 3; the optimizer has 1");
  expect_error([&] { optimizer.load_state_dict({{"groups.0.lr", tensor(nan)}}); }, "invalid groups.0.lr: nan");
  expect_equal(optimizer.learning_rate(), 1.0);
  expect_error([&] { CosineSchedule(optimizer, {.warmup = 5, .steps = 3}); }, "steps must be at least warmup");
  expect_error([&] { CosineSchedule(optimizer, {.steps = 3, .min_lr = -1}); }, "CosineSchedule: invalid min_lr: -1.0");
  CosineSchedule schedule(optimizer, {.warmup = 3, .steps = 10});
  expect_error([&] { schedule.set_iteration(-5); }, "CosineSchedule: the iteration must be at least 0, not -5");
  expect_error([&] { static_cast<void>(schedule.learning_rate(2, 1)); }, "there is no group 1");
  expect_equal(schedule.iteration(), 0);
  expect_error([&] { clip_grad_norm_(w, -1); },
               "clip_grad_norm_: invalid max_norm: -1.0; it must be a number of at least 0");
  expect_error([&] { clip_grad_norm(w, nan); }, "clip_grad_norm: invalid max_norm: nan");
}
