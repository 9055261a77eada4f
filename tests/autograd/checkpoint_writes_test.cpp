// Writes of a checkpointed function into tensors from outside count once, though the function runs twice.
#include <fulgurite/compiled_autograd.h>
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

struct Statistics {
  int64_t batches;
  std::vector<float> mean, gradient;
};

template <class Run>
Statistics statistics(CheckpointOptions options, Run run) {
  manual_seed(5);
  const Tensor x = randn({8, 3}).requires_grad_();
  nn::BatchNorm1d norm(3);
  const auto checkpointed = checkpoint([norm](Tensor given) { return norm(given) * 2.0; }, options);
  run([&](Tensor given) { return sum(checkpointed(given) * given); }, x);
  return {norm.num_batches_tracked.item<int64_t>(), norm.running_mean.to_vector<float>(), x.grad().to_vector<float>()};
}

}  // namespace

TEST("batch norm in a checkpoint counts a batch once: eagerly, reentrant, captured and jitted") {
  const auto eager = [](auto f, Tensor x) { f(x).backward(); };
  const auto captured = [](auto f, Tensor x) {
    const auto scope = compiled_autograd::enable();
    f(x).backward();
  };
  const auto jitted = [](auto f, Tensor x) { jit(f)(x).backward(); };
  const Statistics wanted = statistics({}, jitted);
  expect_equal(wanted.batches, 1);
  const Statistics others[] = {statistics({}, eager), statistics({.use_reentrant = true}, eager),
                               statistics({}, captured)};
  for (const Statistics& one : others) {
    expect_equal(one.batches, 1);
    expect_near(one.mean, wanted.mean);
    expect_near(one.gradient, wanted.gradient);
  }
}

TEST("the second run of a checkpoint reads what the first one read, and writes nothing that stays") {
  const Tensor counter = zeros({1}), x = tensor({2.0}).requires_grad_();
  const auto f = checkpoint([counter](Tensor given) {
    const Tensor before = counter.clone();
    counter.add_(1.0);
    return given * given * (before + 1.0) * counter.clone();
  });
  const Tensor first = f(x), second = f(x);  // 1 * 1 and 2 * 2 squares
  sum(first + second).backward();
  expect_near(counter.to_vector<float>(), {2});
  expect_near(x.grad().to_vector<float>(), {20});
}

TEST("a checkpoint inside a checkpoint writes once") {
  const Tensor counter = zeros({1}), x = tensor({2.0}).requires_grad_();
  const auto inner = checkpoint([counter](Tensor given) {
    counter.add_(1.0);
    return exp(given) * counter;
  });
  const auto outer = checkpoint([inner](Tensor given) { return inner(given * 2.0) * 3.0; });
  sum(outer(x)).backward();
  expect_near(counter.to_vector<float>(), {1});
  expect_near(x.grad().item<float>(), 6 * std::exp(4.0), 1e-3);
}

TEST("values inside a checkpoint may be written in place") {
  const Tensor x = tensor({1.0, -2.0}).requires_grad_();
  const auto f = checkpoint([](Tensor given) {
    const Tensor y = given * 2.0;
    y.add_(1.0);
    y(0) = 5.0;
    return y * y;
  });
  sum(f(x)).backward();
  expect_near(x.grad().to_vector<float>(), {0, -12});
}
