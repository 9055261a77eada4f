// Many threads call jitted functions simultaneously.
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

constexpr int threads = 8;

/// Runs `work(thread)` in so many threads, which start together; an exception in one fails the test.
void run_threads(const std::function<void(int)>& work) {
  std::atomic<int> waiting{threads};
  std::atomic<bool> failed{false};
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i)
    all.emplace_back([&, i] {
      --waiting;
      while (waiting > 0) std::this_thread::yield();
      try {
        work(i);
      } catch (const std::exception&) {
        failed = true;
      }
    });
  for (std::thread& thread : all) thread.join();
  expect(!failed, "a thread failed");
}

}  // namespace

TEST("threads that miss the same key compile it once") {
  for (const Cache cache : {Cache::constant_values, Cache::symbolic_values}) {
    std::atomic<int> recorded{0};
    const auto f = jit(
        [&recorded](Tensor x) {
          ++recorded;
          return sum(exp(x) * x);
        },
        {.cache = cache});
    run_threads([&](int) {
      const NoGrad no_grad;
      for (int64_t size = 2; size < 6; ++size) {
        const Tensor x = ones({size});
        if (std::abs(f(x).item<float>() - 2.7182817f * static_cast<float>(size)) > 1e-4f)
          throw UserError("a wrong result");
      }
    });
    expect_equal(recorded.load(), cache == Cache::constant_values ? 4 : 1);
    expect_equal(cache_misses(f) + cache_hits(f), int64_t{threads} * 4);
    expect_equal(cache_misses(f), cache == Cache::constant_values ? int64_t{4} : int64_t{1});
  }
}

TEST("threads call and differentiate many functions with hits, misses and gradients") {
  std::vector<std::function<Tensor(Tensor)>> functions;
  for (int i = 0; i < 10; ++i) {
    const double scale = i + 1;
    if (i % 2) functions.emplace_back(jit([scale](Tensor x) { return sum(sin(x) * scale); }));
    else
      functions.emplace_back(jit([scale](Tensor x) { return sum(sin(x) * scale); }, {.cache = Cache::symbolic_values}));
  }
  run_threads([&](int thread) {
    for (int call = 0; call < 60; ++call) {
      const int which = (call * 7 + thread) % 10;
      const int64_t size = 1 + (call + thread) % 5;
      const Tensor x = zeros({size}, {.requires_grad = true});
      functions[which](x).backward();
      for (const float slope : x.grad().to_vector<float>())
        if (slope != static_cast<float>(which + 1)) throw UserError("a wrong gradient");
    }
  });
}

TEST("a function with breaks whose body waits for another thread's call of it does not stop both") {
  std::atomic<int> arrived{0};
  const auto f = jit([&arrived](Tensor x) {
    const Tensor y = x + 1;
    graph_break();
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
    return y * 2;
  });
  std::vector<std::thread> two;
  std::atomic<int> right{0};
  for (int i = 0; i < 2; ++i)
    two.emplace_back([&] {
      const NoGrad no_grad;
      if (f(ones({2})).to_vector<float>() == std::vector<float>{4, 4}) ++right;
    });
  for (std::thread& thread : two) thread.join();
  expect_equal(right.load(), 2);
}
