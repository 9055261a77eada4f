// Operands of cat that are computed in place in its result.
#include <algorithm>

#include <fulgurite/fulgurite.h>

#include "ops/generated/symbols.h"
#include "runtime/plan/execution_plan.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

void expect_close(const Tensor& found, const Tensor& expected, double tolerance = 1e-5) {
  expect_equal(found.shape(), expected.shape());
  expect_near(found.to(Dtype::f32).to_vector<float>(), expected.to(Dtype::f32).to_vector<float>(), tolerance);
}

int64_t cats_in(const Trace& trace) {
  const ExecutionPlan plan = make_execution_plan(trace);
  return std::ranges::count_if(plan.steps,
                               [](const Step& step) { return step.bound && step.bound->symbol == &cat_symbol; });
}

// [batch…, length, parts · width] as heads, as a GPT does it.
Tensor heads_of(const Tensor& part, int64_t heads) {
  Shape shape = part.shape();
  const Int width = shape[shape.size() - 1];
  shape[shape.size() - 1] = heads;
  shape.insert(shape.size(), width / heads);
  return transpose(reshape(part, shape), -3, -2);
}

// The gradient of attention from a packed projection, and the number of copies for its concatenation.
int64_t check_packed(const Tensor& packed, int64_t heads, int64_t shared, double tolerance) {
  const auto attend = [=](Tensor x) {
    const int64_t width = x.size(-1).hint() / (heads + 2 * shared);
    const auto parts = split(x, {heads * width, shared * width, shared * width}, -1);
    const Tensor q = heads_of(parts[0], heads), k = heads_of(parts[1], shared), v = heads_of(parts[2], shared);
    return sum(sin(nn::scaled_dot_product_attention(q, k, v, {}, 0.0, true, {}, heads != shared)));
  };
  const auto both = [=](Tensor x) {
    const Tensor gradient = grad(attend)(x * 2.0);
    return gradient * 3.0;
  };
  auto f = jit(both, {.executors = {"eager"}, .debug = {.check_traces = true}});
  for (int call = 0; call < 2; ++call) expect_close(f(packed), both(packed), tolerance);
  return cats_in(last_traces(f).back());
}

}  // namespace

TEST("the cotangents of a packed projection are computed in its memory") {
  manual_seed(1);
  for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::bf16}) {
    const double tolerance = dtype == Dtype::bf16 ? 2e-2 : 1e-6;
    expect_equal(check_packed(randn({2, 9, 3 * 24}).to(dtype), 3, 3, tolerance), 0);
    expect_equal(check_packed(randn({2, 3, 5, 3 * 24}).to(dtype), 2, 2, tolerance), 0);
    expect_equal(check_packed(randn({1, 70, 3 * 64}).to(dtype), 1, 1, tolerance), 0);
    expect_equal(check_packed(randn({2, 130, 4 * 32}).to(dtype), 2, 1, tolerance), 0);
  }
}

TEST("parts that others read, that are results, or that are turned over are copied") {
  const Tensor q = randn({2, 2, 6, 8}), k = randn({2, 2, 6, 8}), v = randn({2, 2, 6, 8});
  const auto loss = [](Tensor a, Tensor b, Tensor c) { return sum(sin(nn::scaled_dot_product_attention(a, b, c))); };
  const auto check = [&](auto function, int64_t cats) {
    auto f = jit(function, {.executors = {"eager"}});
    const Tensor found = f(q, k, v);
    expect_close(found, function(q, k, v));
    expect_equal(cats_in(last_traces(f).back()), cats);
  };
  const auto join = [](const Tensor& a, const Tensor& b, const Tensor& c, int64_t dim) {
    return cat({transpose(a, 1, 2), transpose(b, 1, 2), transpose(c, 1, 2)}, dim);
  };
  for (const int64_t dim : {0, 1, 2, 3})
    check(
        [=](Tensor a, Tensor b, Tensor c) {
          const auto [x, y, z] = grad<0, 1, 2>(loss)(a, b, c);
          return join(x, y, z, dim) * 2.0;
        },
        0);
  check(
      [=](Tensor a, Tensor b, Tensor c) {
        const auto [x, y, z] = grad<0, 1, 2>(loss)(a, b, c);
        return join(x, y, z, 0);  // the result of the program
      },
      1);
  check(
      [=](Tensor a, Tensor b, Tensor c) {
        const auto [x, y, z] = grad<0, 1, 2>(loss)(a, b, c);
        return join(x, y, z, 0) * sum(y);
      },
      1);
  check(
      [=](Tensor a, Tensor b, Tensor c) {
        const auto [x, y, z] = grad<0, 1, 2>(loss)(a, b, c);
        return join(x, x, z, 0) * 2.0;
      },
      1);
  check(
      [=](Tensor a, Tensor b, Tensor c) {
        const auto [x, y, z] = grad<0, 1, 2>(loss)(a, b, c);
        return cat({x, y, z}, 0) * 2.0;  // turned over: the kernel has rows before heads
      },
      1);
  check(
      [=](Tensor a, Tensor b, Tensor c) {
        const auto [x, y, z] = grad<0, 1, 2>(loss)(a, b, c);
        return join(x, a, z, 0) * 2.0;
      },
      1);
}
