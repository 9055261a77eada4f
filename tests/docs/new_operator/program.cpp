// Calls the operator that CONTRIBUTING.md adds; check.py compiles it.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fulgurite/fulgurite.h>

using namespace fulgurite;

namespace {

int failures = 0;
void require(bool holds, const char* text) {
  if (!holds) ++failures, std::printf("it does not hold that %s\n", text);
}

}  // namespace

int main() {
  for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::bf16}) {
    const double tolerance = dtype == Dtype::bf16 ? 1e-2 : 1e-6;
    const Tensor x = tensor({-1.5, 0.0, 0.25, 2.0}, {.dtype = dtype});
    const Tensor expected = exp(-(x * x));
    require(allclose(gaussian(x), expected, tolerance, tolerance), "the function is exp(-x^2)");
    require(allclose(x.gaussian(), expected, tolerance, tolerance), "the method is the function");
    const auto compiled = jit([](Tensor y) { return gaussian(y) * 3; }, {.executors = {"fuser"}});
    require(equal(compiled(x), gaussian(x) * 3), "a compiled program has the eager result's bits");
    const auto ops = last_traces(compiled).back().bound_symbols;
    require(std::ranges::any_of(ops, &BoundSymbol::is_fusion), "the operator is fused");
    require(std::ranges::none_of(ops, [](const BoundSymbol& op) { return op.name() == "gaussian"; }),
            "a generated kernel computes the operator");
  }
  const Tensor x = tensor({-1.5, 0.0, 0.25, 2.0}, {.dtype = Dtype::f64}).requires_grad_();
  sum(gaussian(x)).backward();
  require(allclose(x.grad(), -2 * x.detach() * exp(-(x.detach() * x.detach()))), "its gradient is -2 x exp(-x^2)");
  const Tensor once = autograd::grad(sum(gaussian(x)), x, {}, {.create_graph = true})[0];
  const Tensor twice = autograd::grad(sum(once), x)[0];
  const Tensor square = x.detach() * x.detach();
  require(allclose(twice, (4 * square - 2) * exp(-square)), "its second derivative is (4 x^2 - 2) exp(-x^2)");
  return failures == 0 ? 0 : 1;
}
