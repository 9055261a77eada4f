#include <fulgurite/operators.h>

#include "support/programs/record.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

TEST("eliminate_common_subexpressions computes equal expressions once") {
  const Trace trace = record({f32({2})}, [](auto& x) -> std::vector<Tensor> {
    const Tensor a = sin(x[0]);
    const Tensor b = sin(x[0]);
    const Tensor c = exp(a);
    const Tensor d = exp(b);
    return {mul(c, d)};
  });
  expect_trace(eliminate_common_subexpressions(trace), R"(
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

Tensor computation(Tensor t_0) {
  // t_0: "cpu f32[2]"
  auto t0 = sin(t_0);  // t0: "cpu f32[2]"
  auto t1 = exp(t0);  // t1: "cpu f32[2]"
  auto t4 = mul(t1, t1);  // t4: "cpu f32[2]"
  return t4;
}
)");
}

TEST("eliminate_common_subexpressions tells constants apart") {
  const Trace trace = record({f32({2})}, [](auto& x) -> std::vector<Tensor> {
    const Tensor a = mul(x[0], 2);
    const Tensor b = mul(x[0], 2.0);
    const Tensor c = mul(x[0], 0.0);
    const Tensor d = mul(x[0], -0.0);
    const Tensor ab = add(a, b);
    const Tensor cd = add(c, d);
    return {add(ab, cd)};
  });
  expect_equal(eliminate_common_subexpressions(trace).bound_symbols.size(), trace.bound_symbols.size());
}

TEST("eliminate_common_subexpressions never merges draws") {
  const Trace trace = record({}, [](auto&) -> std::vector<Tensor> {
    const Tensor a = rand({2});
    const Tensor b = rand({2});
    return {add(a, b)};
  });
  expect_equal(eliminate_common_subexpressions(trace).bound_symbols.size(), trace.bound_symbols.size());
}

TEST("eliminate_common_subexpressions leaves two results two") {
  const Trace trace = record({f32({2})}, [](auto& x) -> std::vector<Tensor> {
    const Tensor a = sin(x[0]);
    const Tensor b = sin(x[0]);
    return {a, b};
  });
  expect_equal(eliminate_common_subexpressions(trace).bound_symbols.size(), trace.bound_symbols.size());
}

TEST("eliminate_common_subexpressions unites the forward symbols of what it merges") {
  Trace trace = record({f32({2})}, [](auto& x) -> std::vector<Tensor> {
    const Tensor a = sin(x[0]);
    const Tensor b = sin(x[0]);
    return {mul(a, b)};
  });
  trace.bound_symbols[0].forward = {{10, "t7", "torch.cos"}};
  trace.bound_symbols[1].forward = {{11, "t8", "torch.tanh"}};
  trace.associate_forward = true;
  expect_trace(eliminate_common_subexpressions(trace), R"(
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

Tensor computation(Tensor t_0) {
  // t_0: "cpu f32[2]"
  auto t0 = sin(t_0);  // t0: "cpu f32[2]", forward: t7: "torch.cos", t8: "torch.tanh"
  auto t2 = mul(t0, t0);  // t2: "cpu f32[2]"
  return t2;
}
)");
}
