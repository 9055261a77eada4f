// Scatters into an input, as into a key cache: the program changes the input's own memory.
#include <algorithm>
#include <vector>

#include <fulgurite/fulgurite.h>

#include "runtime/plan/execution_plan.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

/// A row is put into the cache, and all of the cache is read.
Tensor append(Tensor cache, Tensor position, Tensor row) {
  cache.copy_(index_copy(cache, 0, position, row));
  return sum(cache * 2.0, {1});
}

std::vector<double> elements(const Tensor& x) { return x.to(Dtype::f64).contiguous().to_vector<double>(); }

/// Returns true if a program of f's last call computes a value in an input's memory.
bool writes_straight(const Jitted& f) {
  const ExecutionPlan plan = make_execution_plan(last_traces(f).back());
  return std::ranges::any_of(plan.slots,
                             [](const Slot& slot) { return slot.storage_class == StorageClass::input_memory; });
}

}  // namespace

TEST("a cache is written in place, in any memory") {
  const auto f = jit(append, {.executors = {"eager"}});
  const Tensor whole = zeros({8, 6});
  const Tensor wide = zeros({5, 8});
  for (const Tensor& cache : {zeros({5, 3}), whole.narrow(0, 2, 5).narrow(1, 0, 3),
                              whole.reshape({16, 3}).narrow(0, 7, 5), wide.t().narrow(0, 2, 5).narrow(1, 1, 3)}) {
    const Tensor expected = cache.clone();
    const float* const memory = cache.data<float>();
    for (const int64_t at : {0, 4, 2}) {
      const Tensor row = randn({1, 3}), position = tensor(std::vector<int64_t>{at});
      const Tensor wanted = append(expected, position, row);
      expect_equal(elements(f(cache, position, row)), elements(wanted));
      expect_equal(elements(cache), elements(expected));
      expect_equal(cache.data<float>(), memory);
    }
  }
  expect(writes_straight(f));
  expect_equal(elements(whole.narrow(1, 3, 3).narrow(0, 0, 2)), std::vector<double>(6, 0.0));
}

TEST("values read from a cache before a write stay as they were") {
  const auto swap = [](Tensor cache, Tensor position, Tensor row) {
    const Tensor changed = index_copy(cache, 0, position, row);
    const Tensor before = cache * 10.0;
    cache.copy_(changed);
    return std::pair(before, changed + 1.0);
  };
  const auto own_rows = [](Tensor cache, Tensor position) {
    cache.copy_(index_copy(cache, 0, position, cache.narrow(0, 0, 2)));
    return cache + 0.0;
  };
  const auto f = jit(swap, {.executors = {"eager"}});
  const auto g = jit(own_rows, {.executors = {"eager"}});
  const Tensor cache = randn({4, 3}), expected = cache.clone(), row = randn({1, 3}), position = tensor({1});
  const auto [before, after] = f(cache, position, row);
  const auto [wanted_before, wanted_after] = swap(expected, position, row);
  expect_equal(elements(before), elements(wanted_before));
  expect_equal(elements(after), elements(wanted_after));
  expect_equal(elements(cache), elements(expected));
  const Tensor places = tensor({1, 2});
  expect_equal(elements(g(cache, places)), elements(own_rows(expected, places)));
  expect(!writes_straight(g), "rows that are read while others are written");
  expect_equal(elements(cache), elements(expected));
}

TEST("an index out of range leaves a cache as it was") {
  const auto f = jit(append, {.executors = {"eager"}});
  const Tensor cache = randn({5, 3}), row = randn({1, 3});
  f(cache, tensor({0}), row);
  const std::vector<double> before = elements(cache);
  expect_error([&] { f(cache, tensor({7}), row); }, "out of range");
  expect_equal(elements(cache), before);
}

TEST("sums at indices, and single elements, are written into their input too") {
  const auto f = jit(
      [](Tensor total, Tensor index, Tensor source) {
        total.copy_(scatter_add(total, 0, index, source));
        return total * 2.0;
      },
      {.executors = {"eager"}});
  const auto g = jit([](Tensor x, Tensor index) { x.copy_(scatter(x, 0, index, 7.0)); }, {.executors = {"eager"}});
  const Tensor total = zeros({4}), index = tensor({1, 1, 3}), source = tensor({1.0, 2.0, 4.0});
  expect_equal(elements(f(total, index, source)), std::vector<double>{0, 6, 0, 8});
  expect_equal(elements(f(total, index, source)), std::vector<double>{0, 12, 0, 16});
  expect_equal(elements(total), std::vector<double>{0, 6, 0, 8});
  expect(writes_straight(f));
  g(total, index);
  expect(writes_straight(g));
  expect_equal(elements(total), std::vector<double>{0, 7, 0, 7});
}
