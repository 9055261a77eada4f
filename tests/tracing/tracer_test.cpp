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
  expect_python(trace, R"(
import torch

@torch.no_grad()
def computation(t_0, t_weight):
  # t_0: "cpu f32[10, 100]"
  # t_weight: "cpu f32[10, 100]"
  t0 = torch.nn.functional.linear(t_0, t_weight, None)  # t0: "cpu f32[10, 10]"
  return t0
)");
}

TEST("the backward of a linear layer has requirement 000's ops") {
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
  expect_python(delete_last_used(traces.forward), R"(
import torch

@torch.no_grad()
def augmented_forward_fn(t_0, t_weight):
  # t_0: "cpu f32[10, 100]"
  # t_weight: "cpu f32[10, 100]"
  t0 = torch.nn.functional.linear(t_0, t_weight, None)  # t0: "cpu f32[10, 10]"
  return {'output': t0, 'flat_args': [t_0, t_weight], 'flat_output': (t0,)}, ((t_0,), ())
)");
  expect_python(delete_last_used(traces.backward), R"(
import torch

def clear_collection(collection):
  if isinstance(collection, list):
    collection.clear()

@torch.no_grad()
def backward_fn(saved_for_backward, cotangents):
  # saved_for_backward: "Collection"
  # cotangents: "Collection"
  C0, \
  _, \
  = saved_for_backward
  clear_collection(saved_for_backward)
  del saved_for_backward
  t1, \
  = cotangents
  clear_collection(cotangents)
  del cotangents
  t_0, \
  = C0
  clear_collection(C0)
  del C0
  t2 = torch.reshape(t1, (-1, 10))  # t2: "cpu f32[10, 10]"
  del t1
  t3 = torch.permute(t2, (1, 0))  # t3: "cpu f32[10, 10]"
  del t2
  t4 = torch.reshape(t_0, (-1, 100))  # t4: "cpu f32[10, 100]"
  del t_0
  t5 = torch.matmul(t3, t4)  # t5: "cpu f32[10, 100]"
  del t3, t4
  return (None, t5)
)");
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
  expect_trace(trace, R"(
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

Tensor computation(Tensor x, Tensor t_1) {
  // x: "cpu f32[3]"
  // t_1: "cpu f32[3]"
  auto t1 = mul(x, t_1);  // t1: "cpu f32[3]"
  auto t2 = add(t1, t_1);  // t2: "cpu f32[3]"
  return t2;
}
)");
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
  expect_trace(trace, R"(
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

Tensor computation(Tensor x) {
  // x: "cpu f32[3]"
  auto t1 = add(x, 1);  // t1: "cpu f32[3]"
  auto t2 = mul(t1, 2);  // t2: "cpu f32[3]"
  auto t3 = add(t2, 1);  // t3: "cpu f32[3]"
  auto t4 = prims::copy_(t2, x);  // t4: "cpu f32[3]"
  return t3;
}
)");
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
  const Int n = tracer.scalars().add_integer(4, "i0");
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
  expect_trace(trace, R"(
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

Tensor computation(Int i0, Tensor x, Tensor w) {
  // i0: "int 4"
  // x: "cpu f32[i0=4, 8]"
  // w: "cpu f32[16, 8]"
  auto t3 = nn::linear(x, w, {});  // t3: "cpu f32[i0=4, 16]"
  auto t8 = nn::gelu(t3);  // t8: "cpu f32[i0=4, 16]"
    // t4 = prims::mul(t3, 0.7071067811865476)  // t4: "cpu f32[i0=4, 16]"
    // t5 = prims::erf(t4)  // t5: "cpu f32[i0=4, 16]"
    // t6 = prims::mul(t3, 0.5)  // t6: "cpu f32[i0=4, 16]"
    // t7 = prims::add(t5, 1)  // t7: "cpu f32[i0=4, 16]"
    // t8 = prims::mul(t6, t7)  // t8: "cpu f32[i0=4, 16]"
  auto t9 = sum(t8, {1});  // t9: "cpu f32[i0=4]"
  return t9;
}
)");
}
