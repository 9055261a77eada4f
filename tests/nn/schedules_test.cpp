#include <fulgurite/error.h>
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

namespace {

using Values = std::vector<double>;
using Parameters = std::vector<Tensor>;

optim::SGD new_optimizer(double lr = 0.1) {
  return optim::SGD(Parameters{zeros({1}, {.dtype = Dtype::f64}).requires_grad_()}, {.lr = lr, .momentum = 0.9});
}

/// The rates of the first iterations are these, also with a save and a load in the middle.
template <class Make>
void compare(const Make& make, const Values& expected, SourceLocation at = SourceLocation::here()) {
  optim::SGD optimizer = new_optimizer(), other = new_optimizer(0.5);
  auto schedule = make(optimizer);
  auto resumed = make(other);
  Values rates, later;
  for (size_t i = 0; i < expected.size(); ++i) {
    rates.push_back(optimizer.learning_rate());
    if (i == 4) {
      other.load_state_dict(optimizer.state_dict());
      resumed->load_state_dict(schedule->state_dict());
    }
    if (i >= 4) later.push_back(other.learning_rate());
    schedule->step();
    if (i >= 4) resumed->step();
  }
  expect_near(rates, expected, 1e-11, at);
  expect_near(later, Values(expected.begin() + 4, expected.end()), 1e-11, at);
}

}  // namespace

TEST("schedules give PyTorch's rates") {
  using namespace optim;
  compare([](Optimizer& o) { return std::make_unique<StepLR>(o, StepLROptions{.step_size = 3, .gamma = 0.5}); },
          {0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.025, 0.025, 0.025, 0.0125, 0.0125, 0.0125});
  compare([](Optimizer& o) { return std::make_unique<StepLR>(o, 3, 0.5); }, {0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.025});
  compare(
      [](Optimizer& o) {
        return std::make_unique<MultiStepLR>(o, MultiStepLROptions{.milestones = {2, 5, 5, 9}, .gamma = 0.5});
      },
      {0.1, 0.1, 0.05, 0.05, 0.05, 0.0125, 0.0125, 0.0125, 0.0125, 0.00625, 0.00625, 0.00625});
  compare(
      [](Optimizer& o) { return std::make_unique<ConstantLR>(o, ConstantLROptions{.factor = 0.25, .total_iters = 4}); },
      {0.025, 0.025, 0.025, 0.025, 0.1, 0.1, 0.1});
  compare(
      [](Optimizer& o) {
        return std::make_unique<LinearLR>(o,
                                          LinearLROptions{.start_factor = 0.25, .end_factor = 0.75, .total_iters = 6});
      },
      {0.025, 0.0333333333333, 0.0416666666667, 0.05, 0.0583333333333, 0.0666666666667, 0.075, 0.075});
  compare([](Optimizer& o) { return std::make_unique<ExponentialLR>(o, 0.8); },
          {0.1, 0.08, 0.064, 0.0512, 0.04096, 0.032768, 0.0262144});
  compare(
      [](Optimizer& o) { return std::make_unique<PolynomialLR>(o, PolynomialLROptions{.total_iters = 6, .power = 2}); },
      {0.1, 0.0694444444444, 0.0444444444444, 0.025, 0.0111111111111, 0.00277777777778, 0, 0});
  compare([](Optimizer& o) { return std::make_unique<CosineAnnealingLR>(o, 5, 0.01); },
          {0.1, 0.0914057647469, 0.0689057647469, 0.0410942352531, 0.0185942352531, 0.01, 0.0185942352531,
           0.0410942352531, 0.0689057647469});
  compare([](Optimizer& o) { return std::make_unique<CosineAnnealingWarmRestarts>(o, 3, 2, 0.01); },
          {0.1, 0.0775, 0.0325, 0.1, 0.0939711431703, 0.0775, 0.055, 0.0325, 0.0160288568297, 0.1, 0.098466662183,
           0.0939711431703});
  compare(
      [](Optimizer& o) {
        return std::make_unique<LambdaLR>(o, [](int64_t i) { return 1.0 / static_cast<double>(1 + i); });
      },
      {0.1, 0.05, 0.0333333333333, 0.025, 0.02, 0.0166666666667, 0.0142857142857});
  compare(
      [](Optimizer& o) {
        return std::make_unique<MultiplicativeLR>(o, [](int64_t i) { return 0.9 + 0.01 * static_cast<double>(i); });
      },
      {0.1, 0.091, 0.08372, 0.0778596, 0.073188024, 0.0695286228, 0.066747477888});
  compare([](Optimizer& o) { return std::make_unique<OneCycle>(o, OneCycleOptions{.max_lr = 1, .total_steps = 12}); },
          {0.04, 0.34978965422, 0.879285159122, 0.994415435451, 0.933012969841, 0.81174565395, 0.647378997695,
           0.462637102667, 0.283060998209, 0.133477530189, 0.0345669874254, 4e-06});
  compare(
      [](Optimizer& o) {
        return std::make_unique<OneCycle>(
            o, OneCycleOptions{
                   .max_lr = 1, .epochs = 3, .steps_per_epoch = 4, .anneal_strategy = "linear", .three_phase = true});
      },
      {0.04, 0.409230769231, 0.778461538462, 0.852307692308, 0.483076923077, 0.113846153846, 0.0344833103448,
       0.0275874482759, 0.0206915862069, 0.0137957241379, 0.00689986206897, 4e-06});
  compare(
      [](Optimizer& o) {
        return std::make_unique<CyclicLR>(
            o, CyclicLROptions{
                   .base_lr = 0.01, .max_lr = 0.1, .step_size_up = 3, .step_size_down = 2, .mode = "triangular2"});
      },
      {0.01, 0.04, 0.07, 0.1, 0.055, 0.01, 0.025, 0.04, 0.055, 0.0325, 0.01, 0.0175, 0.025, 0.0325});
  compare(
      [](Optimizer& o) {
        return std::make_unique<CyclicLR>(
            o, CyclicLROptions{.base_lr = 0.01, .max_lr = 0.1, .step_size_up = 3, .mode = "exp_range", .gamma = 0.9});
      },
      {0.01, 0.037, 0.0586, 0.07561, 0.049366, 0.0277147, 0.01, 0.024348907, 0.0358280326});
}

TEST("a cycle changes the momentum") {
  optim::SGD optimizer = new_optimizer();
  optim::OneCycle schedule(optimizer, {.max_lr = 1, .total_steps = 12});
  Values momenta;
  for (int i = 0; i < 12; ++i) {
    momenta.push_back(optimizer.state_dict().at("groups.0.momentum").item<double>());
    schedule.step();
  }
  expect_near(momenta,
              {0.95, 0.917730244352, 0.862574462591, 0.850558458689, 0.856698729811, 0.868825509907, 0.885262241279,
               0.903736504679, 0.921694186956, 0.936652593591, 0.946543687432, 0.95},
              1e-11);
}

TEST("training through a cycle gives PyTorch's values") {
  const auto loss_of = [](const Tensor& x) {
    const Tensor a = tensor({{0.5, -1.0, 2.0}, {0.0, 1.0, -2.0}}, {.dtype = Dtype::f64});
    const Tensor w = tensor({{1.0, 2.0, 0.5}, {3.0, 0.1, 1.0}}, {.dtype = Dtype::f64}), d = x - a;
    return sum(cos(x * 3) * 0.3 + d * d * w);
  };
  const auto run = [&](auto make, double peak, bool jitted) {
    const Tensor x = linspace(-1, 1.5, 6, {.dtype = Dtype::f64}).reshape({2, 3}).requires_grad_();
    auto optimizer = make(x);
    optim::OneCycle schedule(optimizer, {.max_lr = peak, .total_steps = 51});
    const auto step = [&] {
      optimizer.zero_grad();
      loss_of(x).backward();
      optimizer.step();
    };
    const auto compiled = jit(step);
    for (int i = 0; i < 50; ++i) {
      if (jitted) compiled();
      else step();
      schedule.step();
    }
    return x.detach().reshape({-1}).to_vector<double>();
  };
  for (const bool jitted : {false, true}) {
    expect_near(run([](const Tensor& x) { return optim::Adam(Parameters{x}, {.lr = 0.01}); }, 0.1, jitted),
                {0.624576902597324, -0.9757056729363893, 1.5179990709480913, 0.025574359785988585, 1.0414893271865446,
                 -0.4386478917542748},
                1e-9);
    expect_near(run([](const Tensor& x) { return optim::SGD(Parameters{x}, {.lr = 0.01}); }, 0.01, jitted),
                {0.8688600071691763, -1.0178545437314626, 1.5181786910266406, 0.03875970647527289, 1.0436582238207928,
                 -2.6434169704960273},
                1e-9);
  }
}

TEST("a plateau of the measure lowers the rate") {
  optim::SGD optimizer = new_optimizer();
  optim::ReduceLROnPlateau schedule(optimizer, {.factor = 0.5, .patience = 1, .cooldown = 1});
  Values rates;
  for (const double measure : {5.0, 4.0, 4.0, 4.0, 4.0, 3.99999, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0}) {
    rates.push_back(optimizer.learning_rate());
    schedule.step(measure);
  }
  expect_near(rates, {0.1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05, 0.05, 0.025, 0.025, 0.025}, 1e-12);
  optim::ReduceLROnPlateau other(optimizer);
  other.load_state_dict(schedule.state_dict());
  expect_equal(other.best(), 3.0);
}

TEST("the rate of averaged parameters goes to its own in some steps") {
  const auto rates_of = [](const optim::SWALROptions& options) {
    optim::SGD optimizer = new_optimizer();
    optim::SWALR schedule(optimizer, options);
    Values rates;
    for (int i = 0; i < 5; ++i) {
      rates.push_back(optimizer.learning_rate());
      schedule.step();
    }
    return rates;
  };
  expect_near(rates_of({.swa_lr = 0.02, .anneal_epochs = 4}),
              {0.1, 0.08828427124746191, 0.06, 0.03171572875253811, 0.02}, 1e-12);
  expect_near(rates_of({.swa_lr = 0.02, .anneal_epochs = 3, .anneal_strategy = "linear"}),
              {0.1, 0.07333333333333333, 0.04666666666666667, 0.02, 0.02}, 1e-12);
  expect_near(rates_of({.swa_lr = 0.02, .anneal_epochs = 0}), {0.02, 0.02, 0.02, 0.02, 0.02}, 1e-12);
}

TEST("the schedule of averaged parameters starts from the rate at its first step, and is saved") {
  optim::SGD optimizer = new_optimizer(), resumed = new_optimizer();
  optim::SWALR schedule(optimizer, {.swa_lr = 0.02, .anneal_epochs = 2, .anneal_strategy = "linear"});
  optim::SWALR other(resumed, {.swa_lr = 0.02, .anneal_epochs = 2, .anneal_strategy = "linear"});
  other.load_state_dict(schedule.state_dict());
  expect_near(resumed.learning_rate(), 0.1, 0);
  optimizer.set_learning_rate(0, 0.04);
  schedule.step();
  other.load_state_dict(schedule.state_dict());
  expect_near(Values{optimizer.learning_rate(), resumed.learning_rate()}, {0.03, 0.03}, 1e-12);
  other.step();
  expect_near(other.last_lr(), {0.02}, 1e-12);
  expect_error([&] { other.load_state_dict({}); }, "SWALR::load_state_dict(): there is no \"iteration\"");
  expect_error([&] { optim::SWALR(optimizer, {.swa_lr = -1}); }, "swa_lr");
  expect_error([&] { optim::SWALR(optimizer, {.swa_lr = 1, .anneal_epochs = -1}); },
               "anneal_epochs must be at least 0");
  expect_error([&] { optim::SWALR(optimizer, {.swa_lr = 1, .anneal_strategy = "cosine"}); }, "anneal_strategy must be");
}

TEST("settings of schedules that make no sense are refused") {
  optim::SGD optimizer = new_optimizer();
  expect_error([&] { optim::StepLR(optimizer, 0); }, "step_size must be positive");
  expect_error([&] { optim::OneCycle(optimizer, {.max_lr = 1}); }, "total_steps, or epochs and steps_per_epoch");
  expect_error([&] { optim::OneCycle(optimizer, {.max_lr = 1, .total_steps = 3, .anneal_strategy = "cosine"}); },
               "anneal_strategy must be");
  optim::OneCycle cycle(optimizer, {.max_lr = 1, .total_steps = 3});
  expect_error(
      [&] {
        for (int i = 0; i < 9; ++i) cycle.step();
      },
      "step 4 is beyond the 3 of the cycle");
  optim::RMSprop other(Parameters{zeros({1}).requires_grad_()});
  expect_error([&] { optim::OneCycle(other, {.max_lr = 1, .total_steps = 3}); }, "cycle_momentum = false");
  optim::OneCycle plain(other, {.max_lr = 1, .total_steps = 3, .cycle_momentum = false});
  expect_error([&] { cycle.load_state_dict({}); }, "there is no \"iteration\"");
}
