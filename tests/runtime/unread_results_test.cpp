// Results that nothing reads are not computed by kernels that can leave them out.
#include <fulgurite/fulgurite.h>

#include <algorithm>

#include "runtime/plan/execution_plan.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

template <class Jitted>
int64_t slots_without_memory(const Jitted& jitted) {
  const ExecutionPlan plan = make_execution_plan(last_traces(jitted).back());
  return std::ranges::count_if(plan.slots, [](const Slot& slot) { return slot.storage_class == StorageClass::none; });
}

// Windows side by side in vectors, in arrays, and one by one, with NaN and padding.
Tensor images(Dtype dtype) {
  Tensor x = randn({2, 3, 9, 37});
  x.select(0, 0).select(0, 1).select(0, 2).narrow(0, 3, 1).fill_(std::nan(""));
  return x.to(dtype);
}

}  // namespace

TEST("indices of maxima that nothing reads have no memory, and the maxima are the same") {
  const NoGrad no_grad;
  manual_seed(5);
  for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::bf16})
    for (const int64_t stride : {1, 2, 3}) {
      const Tensor x = images(dtype);
      const auto pool = [stride](const Tensor& input) {
        return nn::max_pool2d(input, {3}, {stride}, {1}) + nn::adaptive_max_pool2d(input, {1}) * 0.0;
      };
      const auto jitted = jit(pool, {.executors = {"eager"}, .debug = {.check_traces = true}});
      const auto expected = pool(x).to(Dtype::f64).to_vector<double>();
      for (int call = 0; call < 2; ++call) {
        const auto found = jitted(x).to(Dtype::f64).template to_vector<double>();
        expect(std::ranges::equal(found, expected, [](double a, double b) { return a == b || (a != a && b != b); }),
               "maxima differ");
      }
      expect_equal(slots_without_memory(jitted), int64_t{2});
    }
}

TEST("indices of maxima that are returned, viewed or needed by a gradient are computed") {
  manual_seed(6);
  const Tensor x = images(Dtype::f32);
  const auto indices = [](const Tensor& input) {
    return std::get<1>(nn::max_pool2d_with_indices(input, {2})).view({-1}).narrow(0, 0, 5);
  };
  const auto jitted = jit(indices, {.executors = {"eager"}});
  expect_equal(jitted(x).to_vector<int64_t>(), indices(x).to_vector<int64_t>());
  expect_equal(slots_without_memory(jitted), int64_t{0});

  const Tensor leaf = rand({2, 3, 8, 8}).requires_grad_(), same = leaf.detach().requires_grad_();
  const auto pool = [](const Tensor& input) { return nn::max_pool2d(input, {2}).sum(); };
  jit(pool, {.executors = {"eager"}})(leaf).backward();
  pool(same).backward();
  expect_equal(leaf.grad().to_vector<float>(), same.grad().to_vector<float>());
}
