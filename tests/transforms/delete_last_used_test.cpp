#include <fulgurite/operators.h>

#include "support/programs/record.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

TEST("delete_last_used ends values after their last use") {
  const Trace trace = record({f32({2, 3}), f32({3, 4})}, [](auto& x) -> std::vector<Tensor> {
    const Tensor a = matmul(x[0], x[1]);
    const Tensor b = exp(a);
    return {mul(b, b)};
  });
  expect_trace(delete_last_used(trace), R"(
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

Tensor computation(Tensor t_0, Tensor t_1) {
  // t_0: "cpu f32[2, 3]"
  // t_1: "cpu f32[3, 4]"
  auto t0 = matmul(t_0, t_1);  // t0: "cpu f32[2, 4]"
  del(t_0, t_1);
  auto t1 = exp(t0);  // t1: "cpu f32[2, 4]"
  del(t0);
  auto t2 = mul(t1, t1);  // t2: "cpu f32[2, 4]"
  del(t1);
  return t2;
}
)");
}

TEST("delete_last_used deletes unused results, and keeps returned values") {
  const Trace trace = record({f32({2, 3})}, [](auto& x) -> std::vector<Tensor> {
    const auto [variance, mean] = var_mean(x[0], 1);
    return {mean, x[0]};
  });
  expect_trace(delete_last_used(trace), R"(
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

std::tuple<Tensor, Tensor> computation(Tensor t_0) {
  // t_0: "cpu f32[2, 3]"
  auto [t0, t1] = var_mean(t_0, {1}, 1.0);  // t0: "cpu f32[2]", t1: "cpu f32[2]"
    // t0 = prims::var(t_0, {1}, 1.0)  // t0: "cpu f32[2]"
    // t1 = prims::mean(t_0, {1})  // t1: "cpu f32[2]"
  del(t0);
  return {t1, t_0};
}
)");
}

TEST("delete_last_used gives the same when run again") {
  const Trace once = delete_last_used(record({f32({2, 3})}, [](auto& x) -> std::vector<Tensor> {
    const Tensor a = exp(x[0]);
    return {sum(a)};
  }));
  expect_equal(delete_last_used(once).python(), once.python());
}

TEST("delete_last_used clears collections once they are unpacked") {
  Trace forward = record({f32({10, 100}), parameter({10, 100}, "t_weight")},
                         [](auto& x) -> std::vector<Tensor> { return {nn::linear(x[0], x[1])}; });
  const ForwardBackwardTraces traces = forward_and_backward_from_trace(forward);
  check_trace(delete_last_used(traces.forward));
  check_trace(delete_last_used(traces.backward));
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
