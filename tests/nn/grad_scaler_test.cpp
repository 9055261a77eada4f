#include <cmath>
#include <limits>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

namespace {
std::vector<float> values(const Tensor& t) { return t.to(Dtype::f32).to_vector<float>(); }
}  // namespace

TEST("small gradients of an f16 backward survive when the loss is scaled") {
  const Tensor w = ones({2}).requires_grad_();
  const auto loss = [&] { return sum((w.to(Dtype::f16) * 1e-4).to(Dtype::f32)) * 1e-4; };
  loss().backward();
  expect_near(values(w.grad()), {0, 0});
  w.set_grad({});
  optim::SGD optimizer({w}, {.lr = 1e8});
  optim::GradScaler scaler;
  scaler.scale(loss()).backward();
  scaler.unscale_(optimizer);
  expect_less(std::fabs(values(w.grad())[0] - 1e-8), 1e-10);
  expect(scaler.step(optimizer));
  expect_less(std::fabs(values(w)[0]), 0.01);
}

TEST("a step with infinite gradients is left out, and the scale follows") {
  const Tensor w = ones({2}).requires_grad_();
  optim::SGD optimizer({w}, {.lr = 1});
  optim::GradScaler scaler({.init_scale = 8, .growth_interval = 2});
  const auto train = [&](double slope) {
    optimizer.zero_grad();
    scaler.scale(sum(w * slope)).backward();
    const bool stepped = scaler.step(optimizer);
    scaler.update();
    return stepped;
  };
  expect(!train(std::numeric_limits<double>::infinity()));
  expect_near(values(w), {1, 1});
  expect_equal(scaler.get_scale(), 4.0);
  expect(train(0.25));
  expect_near(values(w), {0.75, 0.75});
  expect_equal(scaler.get_scale(), 4.0);
  expect(train(0.25));
  expect_equal(scaler.get_scale(), 8.0);

  optim::GradScaler other;
  other.load_state_dict(scaler.state_dict());
  expect_equal(other.get_scale(), 8.0);
  expect_error([&] { other.load_state_dict({}); }, "GradScaler::load_state_dict(): there is no \"scale\"");
}

TEST("the order of a scaled step is checked") {
  const Tensor w = ones({2}).requires_grad_();
  optim::SGD optimizer({w}, {.lr = 1});
  optim::GradScaler scaler;
  scaler.scale(sum(w)).backward();
  scaler.unscale_(optimizer);
  expect_error([&] { scaler.unscale_(optimizer); },
               "GradScaler::unscale_() a second time; call update() after each step");
  scaler.step(optimizer);
  expect_error([&] { scaler.step(optimizer); }, "GradScaler::step() a second time; call update() after each step");
  expect_error([&] { scaler.unscale_(optimizer); },
               "GradScaler::unscale_() after step(); call update() after each step");
  expect_error([] { optim::GradScaler bad({.init_scale = 0}); }, "GradScaler: init_scale must be positive, got 0");
  expect_error([] { optim::GradScaler bad({.growth_factor = 1}); }, "GradScaler: growth_factor must be above 1, got 1");
  expect_error([] { optim::GradScaler bad({.backoff_factor = 1}); },
               "GradScaler: backoff_factor must be between 0 and 1, got 1");
  optim::GradScaler disabled({.enabled = false});
  expect(disabled.scale(w).is_same(w));
  expect(disabled.step(optimizer));
}
