// Gradients that find an extremum, a median or a norm among its source elements, which a backward may have recomputed.
#include <cmath>

#include <fulgurite/fulgurite.h>

#include "executors/fuser/fused.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

double total_of(const Tensor& x) { return sum(x.to(Dtype::f64)).item<double>(); }

// A loss with its backward in another kernel than the forward's. Selected elements share `c`'s gradient about equally.
template <class Select>
void check(const std::string& name, Dtype dtype, Select select) {
  manual_seed(4);
  const Tensor x = randn({64, 9, 17}).to(dtype), w = randn({17}).to(dtype), c = randn({17}).to(dtype);
  const auto loss = [select](Tensor x, Tensor w, Tensor c) {
    const Tensor scaled = x * w;  // another kernel makes the sum of this and c again
    const Tensor selected = select(scaled + c);
    const Tensor total = sum(selected * selected).to(Dtype::f32) + sum(abs(scaled)).to(Dtype::f32);
    return total * total * 2e-5;
  };
  auto f = jit(value_and_grad<0, 1, 2>(loss), {.executors = {"gemm", "fuser"}, .debug = {.check_traces = true}});
  const auto [value, gradients] = f(x, w, c);
  const auto [expected_value, expected] = value_and_grad<0, 1, 2>(loss)(x, w, c);
  const double share = total_of(std::get<2>(gradients)) / total_of(std::get<2>(expected));
  expect(std::fabs(share - 1) < 2e-2, text::cat(name, " in ", dtype, ": ", share, " of eager mode's gradient"));
  if (dtype == Dtype::f32) expect_close(std::get<0>(gradients), std::get<0>(expected), 1e-4);
}

template <class Select>
void check(const std::string& name, Select select) {
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f16}) check(name, dtype, select);
}

}  // namespace

TEST("a gradient compares the forward's own values with an extremum, a median or a norm") {
  check("amin", [](const Tensor& x) { return amin(x, {-1}); });
  check("amax behind what is exact", [](const Tensor& x) { return amax(relu(x.unsqueeze(0)), {-1}, true); });
  check("amax of columns", [](const Tensor& x) { return amax(x, {0}); });
  check("amax of all", [](const Tensor& x) { return amax(x) * 3.0; });
  check("median", [](const Tensor& x) { return median(x) * 3.0; });
  check("norm", [](const Tensor& x) { return norm(relu(x), INFINITY, {-1}); });
  check("norm in f32", [](const Tensor& x) { return norm(relu(x), INFINITY, {-1}, false, Dtype::f32); });
  check("scatter_reduce", [](const Tensor& x) {
    const Tensor rows = x.reshape({-1, 17}), places = zeros(rows.shape(), {.dtype = Dtype::i64});
    return scatter_reduce(full({2, 17}, -30, {.dtype = x.dtype()}), 0, places, rows, "amax")(0);
  });
  check("a mask", [](const Tensor& x) {
    const Tensor is_largest = eq(x, amax(x, {-1}, true));
    return where(is_largest, x, 0);
  });
  check("a checkpoint's inside",
        [](const Tensor& x) { return amin(checkpoint([](Tensor x) { return x * 0.3 + x * 0.7; })(x), {-1}); });
}

TEST("an extremum that leaves a checkpoint is recomputed with what it is compared with") {
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
    manual_seed(4);
    const Tensor x = randn({16, 9, 17}).to(dtype), w = randn({17}).to(dtype);
    Tensor c = randn({17}).to(dtype).requires_grad_();
    auto f =
        jit(checkpoint([](Tensor x, Tensor w, Tensor c) { return amin(x * w + c, {-1}); }), {.executors = {"fuser"}});
    sum(f(x, w, c)).backward();
    expect(std::fabs(total_of(c.grad()) / (16 * 9) - 1) < 1e-2, text::cat(dtype));
  }
}
