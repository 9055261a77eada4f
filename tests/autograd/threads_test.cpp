// Threads that run backward at the same time, over graphs of their own that share leaves, hooks and nodes.
#include <atomic>
#include <functional>
#include <thread>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

void run_twice(const std::function<void()>& work) {
  std::thread other(work);
  work();
  other.join();
}

}  // namespace

TEST("threads add to the gradients of shared leaves") {
  constexpr int rounds = 200;
  const Tensor w = ones({3}).requires_grad_(), b = zeros({3}).requires_grad_();
  std::atomic<int> calls{0};
  w.register_hook([&](Tensor) { ++calls; });
  w.register_post_accumulate_grad_hook([&](Tensor) { ++calls; });
  run_twice([&] {
    for (int i = 0; i < rounds; ++i) {
      const Tensor x = full({3}, 2.0);
      const Tensor hidden = relu(x * w + b);
      sum(hidden * hidden).backward();
    }
  });
  expect_near(w.grad().to_vector<float>(), std::vector<double>(3, 2.0 * rounds * 8));
  expect_near(b.grad().to_vector<float>(), std::vector<double>(3, 2.0 * rounds * 4));
  expect_equal(calls.load(), 4 * rounds);
}

TEST("threads run over the same nodes at the same time") {
  constexpr int rounds = 200;
  const Tensor x = full({2}, 3.0).requires_grad_();
  const Tensor shared = exp(x * 0.5);
  const std::vector<float> expected = (shared.detach() * 0.5).to_vector<float>();
  std::atomic<int> wrong{0};
  run_twice([&] {
    for (int i = 0; i < rounds; ++i) {
      const Tensor gradient = autograd::grad(sum(shared * 1.0), x, {}, {.retain_graph = true})[0];
      wrong += gradient.to_vector<float>() != expected;
    }
  });
  expect_equal(wrong.load(), 0);
}
