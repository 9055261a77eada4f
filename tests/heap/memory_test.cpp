// Functions that come and go leave nothing behind.
#include <unistd.h>

#include <cstdio>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

int64_t resident_bytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  long all = 0, resident = 0;
  const int read = file ? std::fscanf(file, "%ld %ld", &all, &resident) : 0;
  if (file) std::fclose(file);
  return read == 2 ? int64_t{resident} * sysconf(_SC_PAGESIZE) : 0;
}

// A function of each kind, called with and without a gradient at sizes of its own.
void make_and_destroy(int number) {
  const Tensor weight = ones({4});
  const Cache caches[] = {Cache::constant_values, Cache::symbolic_values, Cache::no_caching, Cache::same_input};
  const auto f = jit([weight](Tensor x) { return sum(tanh(x * weight) + x); },
                     {.cache = caches[number % 4], .limits = {.versions = 2}});
  for (int64_t rows = 1; rows < 5; ++rows) {
    const Tensor x = ones({number % 4 == 3 ? 3 : rows, 4}).requires_grad_();
    f(x).backward();
  }
  const auto has_graph_breaks = jit([](Tensor x) { return x * sum(x).item<double>(); });
  has_graph_breaks(ones({2 + number % 3}).requires_grad_());
  static_cast<void>(explain(f));
}

}  // namespace

TEST("a thousand functions made and destroyed take no memory") {
  for (int i = 0; i < 300; ++i) make_and_destroy(i);
  const int64_t before = resident_bytes();
  for (int i = 0; i < 1000; ++i) make_and_destroy(i);
  const int64_t grown = resident_bytes() - before;
  expect_greater(before, 0);
  expect(grown < 256 << 10, "the process grew by " + std::to_string(grown) + " bytes");
}

TEST("a function that evicts at every call takes no memory") {
  const auto f = jit([](Tensor x) { return sum(exp(x) * x); }, {.limits = {.versions = 4, .warn_after = 0}});
  const auto call = [&](int i) { f(ones({1 + i % 50}).requires_grad_()).backward(); };
  for (int i = 0; i < 500; ++i) call(i);
  const int64_t before = resident_bytes();
  for (int i = 0; i < 2000; ++i) call(i);
  const int64_t grown = resident_bytes() - before;
  expect(grown < 256 << 10, "the process grew by " + std::to_string(grown) + " bytes");
  expect_equal(cache_stats(f).versions, 4);
}
