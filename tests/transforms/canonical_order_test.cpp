#include <fulgurite/operators.h>

#include "support/programs/record.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

TEST("canonical_order does not depend on the order in which operands were recorded") {
  const auto left_first = [](auto& x) -> std::vector<Tensor> {
    const Tensor a = sin(x[0]);
    const Tensor b = cos(x[1]);
    return {add(a, b)};
  };
  const auto right_first = [](auto& x) -> std::vector<Tensor> {
    const Tensor b = cos(x[1]);
    exp(b);
    const Tensor a = sin(x[0]);
    return {add(a, b)};
  };
  const std::vector<Input> inputs = {f32({2}), f32({2})};
  const Trace trace = record(inputs, right_first);
  expect_equal(trace.python({.source = false}), record(inputs, left_first).python({.source = false}));
  expect_trace(trace, R"(
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

Tensor computation(Tensor t_0, Tensor t_1) {
  // t_0: "cpu f32[2]"
  // t_1: "cpu f32[2]"
  auto t0 = sin(t_0);  // t0: "cpu f32[2]"
  auto t1 = cos(t_1);  // t1: "cpu f32[2]"
  auto t2 = add(t0, t1);  // t2: "cpu f32[2]"
  return t2;
}
)");
}

TEST("canonical_order keeps the order of draws, and unused draws") {
  const Trace trace = record({}, [](auto&) -> std::vector<Tensor> {
    const Tensor a = rand({2});
    const Tensor b = rand({3});
    const Tensor c = rand({4});
    return {c, a};
  });
  std::vector<int64_t> sizes;
  for (const BoundSymbol& bound : trace.bound_symbols)
    if (bound.name() == "rand") sizes.push_back(bound.outputs[0].tensor().shape[0]);
  expect_equal(sizes, std::vector<int64_t>{2, 3, 4});
}

TEST("canonical_order keeps the arguments' names and values' given names") {
  const Trace trace =
      record({parameter({2, 2}, "t0"), parameter({2, 2}, "t_weight")}, [](auto& x) -> std::vector<Tensor> {
        const Tensor a = sin(x[0]);
        return {matmul(a, x[1])};
      });
  expect_trace(trace, R"(
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

Tensor computation(Tensor t0, Tensor t_weight) {
  // t0: "cpu f32[2, 2]"
  // t_weight: "cpu f32[2, 2]"
  auto t1 = sin(t0);  // t1: "cpu f32[2, 2]"
  auto t2 = matmul(t1, t_weight);  // t2: "cpu f32[2, 2]"
  return t2;
}
)");
}

TEST("canonical_order renames inside decompositions too") {
  const Trace trace = record({f32({4, 8})}, [](auto& x) -> std::vector<Tensor> {
    const Tensor unused = exp(x[0]);
    const Tensor a = sin(x[0]);
    return {nn::dropout(a, 0.5, true)};
  });
  check_trace(trace);
}

TEST("canonical_order is stable") {
  const Trace once = record({f32({4, 8})}, [](auto& x) -> std::vector<Tensor> {
    const Tensor a = sin(x[0]);
    const Tensor b = nn::dropout(a, 0.5, true);
    return {mul(a, b), sum(b)};
  });
  expect_equal(canonical_order(once).python(), once.python());
}
