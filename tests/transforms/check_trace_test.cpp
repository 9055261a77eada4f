#include <fulgurite/operators.h>

#include "support/programs/record.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

Trace small_trace() {
  return record({f32({2, 3})}, [](auto& x) -> std::vector<Tensor> {
    const Tensor a = sin(x[0]);
    const Tensor b = exp(a);
    return {mul(a, b)};
  });
}

}  // namespace

TEST("check_trace accepts what the tracer records") {
  check_trace(small_trace());
  check_trace(delete_last_used(small_trace()));
}

TEST("check_trace finds a use before the value is made") {
  Trace trace = small_trace();
  std::swap(trace.bound_symbols[0], trace.bound_symbols[1]);
  expect_error([&] { check_trace(trace); }, "symbol 0 (torch.exp): t0 is used before it is made");
}

TEST("check_trace finds a value made twice") {
  Trace trace = small_trace();
  trace.bound_symbols.insert(trace.bound_symbols.begin(), trace.bound_symbols[0]);
  expect_error([&] { check_trace(trace); }, "symbol 1 (torch.sin): t0 was made by a symbol before it already");
}

TEST("check_trace finds two values of one name") {
  Trace trace = small_trace();
  auto* twin = new TensorProxy(trace.bound_symbols[1].outputs[0].tensor());
  twin->name = "t0";
  const Value value{detail::Ref<TensorProxy>(twin)};
  trace.bound_symbols[1].outputs[0] = value;
  expect_error([&] { check_trace(trace); }, "two values are named t0");
}

TEST("check_trace finds symbols after the return, and a missing return") {
  Trace trace = small_trace();
  trace.bound_symbols.pop_back();
  expect_error([&] { check_trace(trace); }, "the last symbol is not the return");
  trace.bound_symbols.clear();
  expect_error([&] { check_trace(trace); }, "it has no return");
}

TEST("check_trace finds a result that is not what the shape rule says") {
  Trace trace = small_trace();
  auto* wrong = new TensorProxy(trace.bound_symbols[1].outputs[0].tensor());
  wrong->shape = Shape{2, 4};
  trace.bound_symbols[1].outputs[0] = Value{detail::Ref<TensorProxy>(wrong)};
  expect_error([&] { check_trace(trace); }, "t1 is cpu f32[2, 4], its rule says cpu f32[2, 3]");
}

TEST("check_trace finds a use after del") {
  Trace trace = delete_last_used(small_trace());
  for (size_t i = 0; i < trace.bound_symbols.size(); ++i) {
    if (trace.bound_symbols[i].name() != "exp") continue;
    BoundSymbol del = trace.bound_symbols[1];  // del(t_0)
    del.args = {trace.bound_symbols[i].args[0]};
    trace.bound_symbols.insert(trace.bound_symbols.begin() + static_cast<int64_t>(i), del);
    break;
  }
  expect_error([&] { check_trace(trace); }, "t0 is used before it is made");
}

TEST("check_trace finds subsymbols that do not make the result") {
  Trace trace = record({f32({2, 3})}, [](auto& x) -> std::vector<Tensor> { return {nn::dropout(x[0], 0.5, true)}; });
  trace.bound_symbols[0].subsymbols.pop_back();
  expect_error([&] { check_trace(trace); }, "its subsymbols do not make t");
}

TEST("trace_diff shows the ops that differ") {
  const Trace before = record_raw({f32({2})}, [](auto& x) -> std::vector<Tensor> {
    tanh(x[0]);
    return {exp(x[0])};
  });
  expect_text(trace_diff(before, eliminate_dead_code(before)), R"(
-   auto t0 = tanh(t_0);  // t0: "cpu f32[2]"
)");
  expect_equal(trace_diff(before, before), std::string());
}
