// Fusions of functions without user-selected executors: kernels if they are profitable, decided by the program alone.
#include <fulgurite/fulgurite.h>

#include "executors/fuser/fused.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

Tensor bent(Tensor x, Tensor y) {
  const Tensor product = x * y;
  const Tensor shifted = product + 1.5;
  return tanh(shifted);
}

}  // namespace

TEST("a chain is fused by default, a very small one is unprofitable") {
  const auto f = jit(bent);
  const Tensor small = randn({32, 32}), large = randn({64, 64});
  expect_equal(f(small, small).contiguous().to_vector<float>(), bent(small, small).contiguous().to_vector<float>());
  expect_equal(fusions_in(last_traces(f).back()), 0);
  const size_t stages = last_traces(f).size();
  expect_close(f(large, large), bent(large, large));
  expect_equal(fusions_in(last_traces(f).back()), 1);
  expect(last_traces(f).size() > stages, "nothing is said of fusing where nothing is large");
}

TEST("an executor list with the fuser fuses all supported ops") {
  const auto f = jit(bent, {.executors = {"fuser"}});
  const Tensor small = randn({6, 7});
  expect_close(f(small, small), bent(small, small));
  expect_equal(fusions_in(last_traces(f).back()), 1);
  const auto same = with_transforms(f, {});
  expect_close(same(small, small), bent(small, small));
  expect_equal(fusions_in(last_traces(same).back()), 1);
}

TEST("an executor list without the fuser has no generated kernels") {
  const auto f = jit(bent, {.executors = {"onednn"}});
  const Tensor large = randn({1024, 1024});
  expect_equal(f(large, large).to_vector<float>(), bent(large, large).to_vector<float>());
  expect_equal(fusions_in(last_traces(f).back()), 0);
}

TEST("with symbolic sizes it is decided once, for sizes that may grow") {
  const auto call = [](auto& f, int64_t rows) {
    const Tensor x = randn({rows, 64});
    expect_close(f(x, x), bent(x, x));
    return fusions_in(last_traces(f).back());
  };
  const auto grows = jit(bent, {.cache = Cache::symbolic_values}), small = jit(bent, {.cache = Cache::symbolic_values});
  const auto constant = jit(bent);
  expect_equal(call(constant, 16), 0);
  for (const int64_t rows : {16, 1024, 7}) expect_equal(call(grows, rows), 1);
  for (const int64_t rows : {5, 1024, 7}) expect_equal(call(small, rows), 0);
  expect_equal(cache_misses(grows), 1);
}

TEST("calls give the same bits from the first on") {
  const Tensor x = randn({1024, 1024}), y = randn({1024});
  const auto f = jit(bent), again = jit(bent);
  const std::vector<float> first = f(x, y).to_vector<float>();
  for (int call = 0; call < 3; ++call) expect_equal(f(x, y).to_vector<float>() == first, true);
  expect_equal(again(x, y).to_vector<float>() == first, true);
}

TEST("a long chain of ops that move little memory is not searched for fusion groups") {
  const auto chain = [](Tensor x) {
    for (int i = 0; i < 300; ++i) x = abs(x) + 0.5;
    return x;
  };
  const auto f = jit(chain);
  const Tensor tiny = randn({8, 8}), larger = randn({32, 32});
  const auto stages_of = [&](const Tensor& x) {
    expect_close(f(x), chain(x));
    return last_traces(f).size();
  };
  const size_t stages = stages_of(tiny);
  expect_equal(fusions_in(last_traces(f).back()), 0);
  expect(stages_of(larger) > stages, "64 lines of 8 KB are worth a kernel");
  expect_greater(fusions_in(last_traces(f).back()), 0);
}
