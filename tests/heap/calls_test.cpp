// Repeated calls do not allocate, once one like them has run. A binary of its own, because it counts allocations.
#include <atomic>
#include <cstdlib>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

std::atomic<long> asked{0};

}  // namespace

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

// Seen by the shared libraries too: operator new is in one of them.
#pragma GCC visibility push(default)
void* malloc(size_t bytes) {
  asked.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  asked.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, bytes);
}
void* realloc(void* block, size_t bytes) {
  asked.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(block, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  asked.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, bytes);
}
#pragma GCC visibility pop
}

namespace {

/// Allocations of 100 calls, after some that fill the caches.
template <class Call>
long heap_allocations(Call&& call) {
  for (int i = 0; i < 20; ++i) call();
  const long before = asked;
  for (int i = 0; i < 100; ++i) call();
  return asked - before;
}

void* volatile kept = nullptr;  // everybody may see it: the compiler cannot leave out what it is given

}  // namespace

TEST("the counter counts") {
  const auto allocate = [] {
    kept = std::malloc(100);
    std::free(kept);
  };
  expect_equal(heap_allocations(allocate), 100L);
  const auto create = [] {
    kept = new Tensor;
    delete static_cast<Tensor*>(kept);
  };
  expect_equal(heap_allocations(create), 100L);
}

TEST("a jitted call asks nothing of the heap") {
  const NoGrad no_grad;
  const Tensor x = rand({16}), y = rand({16});
  const auto f = jit([](Tensor x, Tensor y) { return exp(x + y) * y; });
  expect_equal(heap_allocations([&] { f(x, y); }), 0L);
  const auto several = jit([](Tensor x, Tensor y) { return std::tuple(x + y, x.reshape({4, 4}), sum(y)); });
  expect_equal(heap_allocations([&] { several(x, y); }), 0L);
  const auto with_numbers = jit([](Tensor x, int64_t n, double scale) { return x * scale + n; });
  expect_equal(heap_allocations([&] { with_numbers(x, 2, 0.5); }), 0L);
  const auto nothing = jit([] {});
  expect_equal(heap_allocations([&] { nothing(); }), 0L);
}

TEST("a jitted step of training asks nothing of the heap") {
  struct Network {
    Tensor w1, b1, w2, b2;
  };
  const auto loss = [](Network n, Tensor x, Tensor target) {
    const Tensor hidden = relu(nn::linear(x, n.w1, n.b1));
    const Tensor out = nn::linear(hidden, n.w2, n.b2);
    return nn::mse_loss(out, target);
  };
  const Network network{rand({64, 64}), rand({64}), rand({16, 64}), rand({16})};
  const Tensor x = rand({1, 64}), target = rand({1, 16});
  const auto step = jit(value_and_grad(loss));
  expect_equal(heap_allocations([&] { step(network, x, target); }), 0L);
}

TEST("a call among many versions asks nothing of the heap") {
  const NoGrad no_grad;
  const auto f = jit([](Tensor x) { return x * 2; });
  const Tensor x = rand({3}), y = rand({5});
  expect_equal(heap_allocations([&] {
                 f(x);
                 f(y);
               }),
               0L);
}

TEST("eager operators ask nothing of the heap") {
  const NoGrad no_grad;
  const Tensor x = rand({4, 16}), y = rand({4, 16});
  expect_equal(heap_allocations([&] { x + y; }), 0L);
  expect_equal(heap_allocations([&] { exp(x); }), 0L);
  expect_equal(heap_allocations([&] { x.select(0, 1); }), 0L);
  expect_equal(heap_allocations([&] { sum(x, {1}); }), 0L);
}
