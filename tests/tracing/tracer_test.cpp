#include <fulgurite/fulgurite.h>

#include "support/test.h"
#include "tracing/tracer.h"

using namespace fulgurite;
using namespace fulgurite::test;

TEST("a linear layer is recorded with its types") {
  Tracer tracer;
  const Tensor x = tracer.add_argument({Shape{10, 100}, Dtype::f32, {}}, false, "t_0");
  const Tensor weight = tracer.add_argument({Shape{10, 100}, Dtype::f32, {}}, true, "t_weight");
  Tensor y;
  {
    const InterpreterScope scope(&tracer);
    y = nn::linear(x, weight);
  }
  const Trace trace = canonical_order(tracer.finish(tracer.value_of(y)));
  check_trace(trace);
  expect_python(trace, R"()");
}

TEST("the backward of a linear layer has requirement 000's lines") {
  Tracer tracer;
  const Tensor x = tracer.add_argument({Shape{10, 100}, Dtype::f32, {}}, false, "t_0");
  const Tensor weight = tracer.add_argument({Shape{10, 100}, Dtype::f32, {}}, true, "t_weight");
  Tensor y;
  {
    const InterpreterScope scope(&tracer);
    y = nn::linear(x, weight);
  }
  const Trace trace = canonical_order(tracer.finish(tracer.value_of(y)));
  const ForwardBackwardTraces traces = forward_and_backward_from_trace(trace);
  check_trace(traces.forward);
  check_trace(traces.backward);
  expect_python(delete_last_used(traces.forward), R"()");
  expect_python(delete_last_used(traces.backward), R"()");
}

TEST("a concrete tensor that a recording meets becomes an input") {
  const Tensor w = ones({3});
  Tracer tracer;
  const Tensor x = tracer.add_argument({Shape{3}, Dtype::f32, {}}, false, "x");
  Tensor y;
  {
    const InterpreterScope scope(&tracer);
    y = x * w + w;
  }
  const Trace trace = canonical_order(tracer.finish(tracer.value_of(y)));
  expect_equal(tracer.captures().size(), 1u);
  expect_trace(trace, R"()");
}

TEST("writing a whole tensor ends the trace with one copy into the input") {
  Tracer tracer;
  const Tensor x = tracer.add_argument({Shape{3}, Dtype::f32, {}}, false, "x");
  Tensor y;
  {
    const InterpreterScope scope(&tracer);
    x.add_(1);
    x.mul_(2);
    y = x + 1;
  }
  const Trace trace = canonical_order(tracer.finish(tracer.value_of(y)));
  check_trace(trace);
  expect_trace(trace, R"()");
}

TEST("a tensor of a trace that has ended is refused with the line of its birth") {
  Tensor kept;
  {
    Tracer tracer;
    const Tensor x = tracer.add_argument({Shape{3}, Dtype::f32, {}}, false, "x", SourceLocation::here());
    const InterpreterScope scope(&tracer);
    kept = x + 1;
  }
  expect_error([&] { kept + 1; }, "belongs to a trace that has ended");
  expect_error([&] { kept + 1; }, "tracer_test.cpp:");
}

TEST("shape rules work on symbolic sizes") {
  Tracer tracer;
  const Int n = tracer.add_integer(4, "i0");
  const Tensor x = tracer.add_argument({Shape{n, 8}, Dtype::f32, {}}, true, "x");
  const Tensor w = tracer.add_argument({Shape{16, 8}, Dtype::f32, {}}, true, "w");
  Tensor y;
  {
    const InterpreterScope scope(&tracer);
    const Tensor h = gelu(nn::linear(x, w));
    y = sum(h, 1);
  }
  expect(y.shape()[0].is_symbolic());
  const Trace trace = canonical_order(tracer.finish(tracer.value_of(y)));
  expect_trace(trace, R"()");
}
