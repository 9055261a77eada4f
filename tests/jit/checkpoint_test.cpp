#include <algorithm>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

namespace fulgurite {

namespace {

Tensor chain(Tensor x, Tensor y) { return exp(cos(sin(x))) * y; }

// The gradients of x and y after one call, and the tensors saved by the forward.
template <class F>
void expect_only_arguments_saved(const F& f, const std::vector<std::vector<float>>& expected) {
  const Tensor x = tensor({{0.1, 0.2}, {0.3, 0.4}}).requires_grad_(),
               y = tensor({{1.0, 2.0}, {3.0, 4.0}}).requires_grad_();
  sum(f(x, y)).backward();
  expect_equal(x.grad().to_vector<float>(), expected[0]);
  expect_equal(y.grad().to_vector<float>(), expected[1]);
  const examine::MemoryReport report = examine::memory(last_traces(f).back());
  expect_equal(report.saved.size(), 2);
  for (const auto& saved : report.saved) expect(saved.origin == examine::MemoryReport::Origin::input, saved.name);
  expect_equal(report.saved_bytes, 32);
  expect_equal(report.saved_made_bytes, 0);
  std::vector<std::string> repeated;
  const std::vector<Trace> traces = last_backward_traces(f);
  for (const BoundSymbol& bound : traces.back().bound_symbols)
    if (!bound.forward.empty() && bound.forward[0].part == ForwardOrigin::Part::recomputation)
      repeated.push_back(bound.name());
  std::ranges::sort(repeated);
  expect_equal(repeated, std::vector<std::string>{"cos", "exp", "sin"});
}

}  // namespace

TEST("a checkpoint saves its arguments alone, however it is called") {
  const Tensor x = tensor({{0.1, 0.2}, {0.3, 0.4}}).requires_grad_(),
               y = tensor({{1.0, 2.0}, {3.0, 4.0}}).requires_grad_();
  sum(jit(chain)(x, y)).backward();
  const std::vector<std::vector<float>> expected{x.grad().to_vector<float>(), y.grad().to_vector<float>()};
  expect_only_arguments_saved(jit(checkpoint(chain)), expected);
  expect_only_arguments_saved(jit([](Tensor a, Tensor b) { return checkpoint(chain)(a, b); }), expected);
  const auto outside = checkpoint([](const auto& a, const auto& b) { return chain(a, b); });
  expect_only_arguments_saved(jit([=](Tensor a, Tensor b) { return outside(a, b); }), expected);
}

}  // namespace fulgurite
