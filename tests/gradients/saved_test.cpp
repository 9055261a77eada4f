// Values that a backward reads from its forward.
#include <algorithm>

#include "ir/analysis/effects.h"
#include "ir/analysis/trace_values.h"
#include "support/cases/case_traces.h"
#include "support/programs/record.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

/// Other tensors of the same shape and dtype, in values and signs.
std::vector<Tensor> replacements(const Tensor& t) {
  if (t.dtype() == Dtype::boolean) return {logical_not(t)};
  if (is_integer(t.dtype())) return {zeros_like(t), t + 1, flip(t.reshape({-1}), 0).reshape(t.shape())};
  return {-t, t * 3 + 0.7, zeros_like(t), t + 10, t - 10, flip(t.reshape({-1}), 0).reshape(t.shape())};
}

bool same_numbers(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  const auto same = [](const Tensor& x, const Tensor& y) {
    if (x.defined() != y.defined()) return false;
    return !x.defined() || x.contiguous().to_vector<double>() == y.contiguous().to_vector<double>();
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

/// Returns true if any gradient changes with the elements of saved tensor `which`.
bool depends_on(const CaseTraces& traces, size_t which) {
  const std::vector<Tensor> gradients = traces.run_backward(traces.backward, traces.saved);
  for (const Tensor& other : replacements(traces.saved[which])) {
    std::vector<Tensor> saved = traces.saved;
    saved[which] = other;
    try {
      if (!same_numbers(traces.run_backward(traces.backward, saved), gradients)) return true;
    } catch (const std::exception&) {
      return true;  // an index out of range, say
    }
  }
  return false;
}

/// Kept for a second gradient.
bool is_state_of_draw(const CaseTraces& traces, size_t which) {
  const Value saved = keyword(traces.forward.bound_symbols.back(), "saved_tensors").list()[which];
  for (const BoundSymbol& bound : traces.forward.bound_symbols)
    if (draws_numbers(*bound.symbol) && bound.outputs[0] == saved) return true;
  return false;
}

bool has_elements(const std::vector<Tensor>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [](const Tensor& t) { return t.numel() > 0; });
}

}  // namespace

TEST("no backward takes a tensor whose elements it does not read") {
  for (const OperatorCase& c : chosen_cases()) {
    if (!c.is_differentiable() || !c.known_gradients.empty() || !has_elements(c.inputs())) continue;
    const CaseTraces traces = differentiate_case(c);
    for (size_t i = 0; i < traces.saved.size(); ++i)
      expect(is_state_of_draw(traces, i) || depends_on(traces, i),
             c.name + ": saved tensor " + std::to_string(i) + " is not read in\n" +
                 print(traces.backward, {.time = false, .source = false}));
  }
}

TEST("nothing of a condition is in the backward of where") {
  const Trace trace = record({parameter({2, 3}), parameter({2, 3})}, [](const auto& t) -> std::vector<Tensor> {
    const Tensor product = t[0] * t[1];
    return {where(product > 0, t[0], t[1])};
  });
  const ForwardBackwardTraces traces = forward_and_backward_from_trace(trace);
  for (const BoundSymbol& bound : traces.backward.bound_symbols)
    for (const ForwardOrigin& origin : bound.forward) expect_equal(origin.symbol, "torch.where");
  expect_trace(traces.backward, R"(
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

std::vector<Tensor> backward_fn(SavedForBackward saved_for_backward, std::vector<Tensor> cotangents) {
  // saved_for_backward: "Collection"
  // cotangents: "Collection"
  auto [C0, C1] = saved_for_backward;
  Tensor t3 = cotangents[0];
  Tensor t1 = C0[0];
  auto t4 = where(t1, t3, 0);  // t4: "cpu f32[2, 3]"
  auto t5 = where(t1, 0, t3);  // t5: "cpu f32[2, 3]"
  return {t4, t5};
}
)");
}

TEST("a sum over a product with a number saves nothing") {
  const Trace trace = record({parameter({2, 3})}, [](const auto& t) -> std::vector<Tensor> {
    const Tensor scaled = t[0] * 0.5;
    return {scaled.sum(0)};
  });
  expect_trace(forward_and_backward_from_trace(trace).backward, R"(
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

std::vector<Tensor> backward_fn(SavedForBackward saved_for_backward, std::vector<Tensor> cotangents) {
  // saved_for_backward: "Collection"
  // cotangents: "Collection"
  auto [C0, C1] = saved_for_backward;
  Tensor t2 = cotangents[0];
  auto t3 = reshape(t2, {1, 3});  // t3: "cpu f32[1, 3]"
  auto t4 = expand(t3, {2, 3});  // t4: "cpu f32[2, 3]"
  auto t5 = mul(t4, 0.5);  // t5: "cpu f32[2, 3]"
  return {t5};
}
)");
}

TEST("a sum over a product with a tensor saves the factors that gradients read and nothing for a shape") {
  const auto saved = [](bool scale_is_parameter) {
    const Trace trace = record({parameter({2, 3}, "a"), {{2, 1}, Dtype::f32, scale_is_parameter, "s"}},
                               [](const auto& t) -> std::vector<Tensor> {
                                 const Tensor product = t[0] * t[1];
                                 return {product.sum(0)};
                               });
    const ForwardBackwardTraces traces = forward_and_backward_from_trace(trace);
    std::string names;
    for (const Value& value : keyword(traces.forward.bound_symbols.back(), "saved_tensors").list())
      names += value.tensor().name + " ";
    return names;
  };
  expect_equal(saved(false), "s ");
  expect_equal(saved(true), "s a ");
}
