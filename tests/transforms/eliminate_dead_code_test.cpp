#include <fulgurite/operators.h>

#include "support/programs/record.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

TEST("eliminate_dead_code keeps only what the results need") {
  const Trace trace = record_raw({f32({2, 3})}, [](auto& x) -> std::vector<Tensor> {
    tanh(x[0]);
    const Tensor square = mul(x[0], x[0]);
    exp(square);
    return {square};
  });
  expect_equal(trace.bound_symbols.size(), 4);
  expect_trace(eliminate_dead_code(trace), R"(
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

Tensor computation(Tensor t_0) {
  // t_0: "cpu f32[2, 3]"
  auto t1 = mul(t_0, t_0);  // t1: "cpu f32[2, 3]"
  return t1;
}
)");
}

TEST("eliminate_dead_code keeps a symbol of which one result is used") {
  const Trace trace =
      record_raw({f32({2, 3})}, [](auto& x) -> std::vector<Tensor> { return {std::get<1>(var_mean(x[0], 1))}; });
  expect_trace(eliminate_dead_code(trace), R"(
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

Tensor computation(Tensor t_0) {
  // t_0: "cpu f32[2, 3]"
  auto [t0, t1] = var_mean(t_0, {1}, 1.0);  // t0: "cpu f32[2]", t1: "cpu f32[2]"
    // t0 = prims::var(t_0, {1}, 1.0)  // t0: "cpu f32[2]"
    // t1 = prims::mean(t_0, {1})  // t1: "cpu f32[2]"
  return t1;
}
)");
}

TEST("eliminate_dead_code keeps draws and writes") {
  const Trace trace = record_raw({f32({2})}, [](auto& x) -> std::vector<Tensor> {
    rand({2});
    copy_(x[0], mul(x[0], 2));
    return {};
  });
  const Trace kept = eliminate_dead_code(trace);
  bool draws = false, writes = false;
  for (const BoundSymbol& bound : kept.bound_symbols) {
    draws = draws || bound.name() == "rand";
    writes = writes || bound.name() == "copy_";
  }
  expect(draws);
  expect(writes);
}

TEST("eliminate_dead_code leaves its input alone") {
  const Trace trace = record_raw({f32({2})}, [](auto& x) -> std::vector<Tensor> {
    tanh(x[0]);
    return {x[0]};
  });
  const std::string before = trace.python();
  eliminate_dead_code(trace);
  expect_equal(trace.python(), before);
}
