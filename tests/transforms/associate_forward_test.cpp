// Every line of a backward says which line of the forward it serves, however the passes renamed, merged, split or fused
// either.
#include <fulgurite/fulgurite.h>

#include "ir/analysis/uses.h"
#include "support/fusing_pass.h"
#include "support/programs/record.h"
#include "support/test.h"
#include "transforms/grad/associate_forward.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

using Part = ForwardOrigin::Part;

// The origins of a backward's ops, by the operator called: "mul <- t0 torch.sin".
std::vector<std::string> links(const Trace& backward) {
  std::vector<std::string> out;
  for (const BoundSymbol& bound : backward.bound_symbols)
    for (const ForwardOrigin& origin : bound.forward_origins())
      out.push_back(bound.name() + " <- " + origin.result + " " + origin.symbol);
  return out;
}

// The roles of the ops of a backward, without those of the rules.
std::vector<std::string> parts(const Trace& backward) {
  static const char* const names[] = {"rule", "accumulation", "zeros", "unbroadcast", "cast", "copy", "recomputation"};
  std::vector<std::string> out;
  for (const BoundSymbol& bound : backward.bound_symbols)
    for (const ForwardOrigin& origin : bound.forward)
      if (origin.part != Part::rule)
        out.push_back(bound.name() + ": " + origin.result + " " + origin.symbol + " " +
                      names[static_cast<int>(origin.part)]);
  return out;
}

template <class F, class... A>
auto called(F function, const A&... arguments) {
  auto f = jit(std::move(function), {.debug = {.associate_forward = true, .check_traces = true}});
  f(arguments...);
  return f;
}

}  // namespace

TEST("the backward of a linear layer names the layer's op") {
  const auto f = called(nn::Linear(100, 10, false), randn({10, 100}));
  expect_python(last_traces(f).back(), R"(
# Constructed by Delete Last Used
import torch

@torch.no_grad()
def augmented_forward_fn(t_0, t_weight):
  # t_0: "cpu f32[10, 100]"
  # t_weight: "cpu f32[10, 100]"
  t0 = torch.nn.functional.linear(t_0, t_weight, None)  # t0: "cpu f32[10, 10]", onednn
  return {'output': t0, 'flat_args': [t_0, t_weight], 'flat_output': (t0,)}, ((t_0,), ())
)");
  expect_python(last_backward_traces(f).back(), R"(
# Constructed by Delete Last Used
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
  t2 = torch.reshape(t1, (-1, 10))  # t2: "cpu f32[10, 10]", forward: t0: "torch.nn.functional.linear"
  del t1
  t3 = torch.permute(t2, (1, 0))  # t3: "cpu f32[10, 10]", forward: t0: "torch.nn.functional.linear"
  del t2
  t4 = torch.reshape(t_0, (-1, 100))  # t4: "cpu f32[10, 100]", forward: t0: "torch.nn.functional.linear"
  del t_0
  t5 = torch.matmul(t3, t4)  # t5: "cpu f32[10, 100]", onednn, forward: t0: "torch.nn.functional.linear"
  del t3, t4
  return (None, t5)
)");
  expect_trace(last_backward_traces(f).back(), R"(
// Constructed by Delete Last Used
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

std::vector<Tensor> backward_fn(SavedForBackward saved_for_backward, std::vector<Tensor> cotangents) {
  // saved_for_backward: "Collection"
  // cotangents: "Collection"
  auto [C0, C1] = saved_for_backward;
  clear_collection(saved_for_backward);
  del(saved_for_backward);
  Tensor t1 = cotangents[0];
  clear_collection(cotangents);
  del(cotangents);
  Tensor t_0 = C0[0];
  clear_collection(C0);
  del(C0);
  auto t2 = reshape(t1, {-1, 10});  // t2: "cpu f32[10, 10]", forward: t0: "torch.nn.functional.linear"
  del(t1);
  auto t3 = permute(t2, {1, 0});  // t3: "cpu f32[10, 10]", forward: t0: "torch.nn.functional.linear"
  del(t2);
  auto t4 = reshape(t_0, {-1, 100});  // t4: "cpu f32[10, 100]", forward: t0: "torch.nn.functional.linear"
  del(t_0);
  auto t5 = matmul(t3, t4);  // t5: "cpu f32[10, 100]", onednn, forward: t0: "torch.nn.functional.linear"
  del(t3, t4);
  return {Tensor(), t5};
}
)");
}

TEST("ops that no rule recorded say their origin") {
  const Trace trace = record({parameter({2, 3}, "x"), parameter({3}, "w"), {{2, 3}, Dtype::f64, true, "y"}},
                             [](auto& t) -> std::vector<Tensor> {
                               const Tensor scaled = mul(t[0], t[1]);
                               const Tensor wide = add(scaled, t[2]);
                               const std::vector<Tensor> halves = split(scaled, {1, 1}, 0);
                               const Tensor used = exp(halves[0]);
                               return {wide, used, t[0]};
                             });
  expect_equal(parts(forward_and_backward_from_trace(trace).backward),
               std::vector<std::string>{"zeros: t5 torch.split zeros", "convert_element_type: t4 torch.add cast",
                                        "add: t4 torch.add accumulation", "sum: t3 torch.mul unbroadcast",
                                        "add: x return accumulation"});
}

TEST("a value recomputed says that it is") {
  const auto inner = [](Tensor x) { return sin(cos(x)); };
  const auto f = called([=](Tensor x) { return sum(checkpoint(inner)(x)); }, randn({3}).requires_grad_());
  expect_python(last_backward_traces(f).back(), R"(
# Constructed by Delete Last Used
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
  t3, \
  = cotangents
  clear_collection(cotangents)
  del cotangents
  t_0, \
  = C0
  clear_collection(C0)
  del C0
  t4 = torch.reshape(t3, (1,))  # t4: "cpu f32[1]", forward: t2: "torch.sum"
  del t3
  t5 = torch.Tensor.expand(t4, (3,))  # t5: "cpu f32[3]", forward: t2: "torch.sum"
  del t4
  t0 = torch.cos(t_0)  # t0: "cpu f32[3]", forward: t0: "torch.cos", recomputation
  t6 = torch.cos(t0)  # t6: "cpu f32[3]", forward: t1: "torch.sin"
  del t0
  t7 = torch.mul(t5, t6)  # t7: "cpu f32[3]", forward: t1: "torch.sin"
  del t5, t6
  t8 = torch.sin(t_0)  # t8: "cpu f32[3]", forward: t0: "torch.cos"
  del t_0
  t9 = torch.neg(t8)  # t9: "cpu f32[3]", forward: t0: "torch.cos"
  del t8
  t10 = torch.mul(t7, t9)  # t10: "cpu f32[3]", forward: t0: "torch.cos"
  del t7, t9
  return (t10,)
)");
}

TEST("a forward op that executors replaced by its parts is named by them") {
  const auto f = called([](Tensor x) { return sum(nn::dropout(x, 0.5, true)); }, randn({3}).requires_grad_());
  const Trace forward = last_traces(f).back();
  for (const Trace& stage : last_backward_traces(f))
    for (const BoundSymbol& bound : stage.bound_symbols)
      for (const ForwardOrigin& origin : bound.forward_origins()) {
        bool is_printed = false;
        for (const BoundSymbol& line : forward.bound_symbols)
          for (const Value& output : line.flat_outs())
            is_printed = is_printed || (output.is_tensor() && output.tensor().name == origin.result &&
                                        line.symbol->qualified_name() == origin.symbol);
        expect(is_printed, bound.name() + " serves " + origin.result + " " + origin.symbol);
      }
}

TEST("links follow renaming") {
  const Trace recorded = record({parameter({3})}, [](auto& x) -> std::vector<Tensor> {
    const Tensor a = sin(x[0]);
    const Tensor b = exp(a);
    return {mul(a, b)};
  });
  const Trace joint = grad_transform_on_trace(recorded);
  const std::vector<std::string> before = links(split_into_forward_and_backward(joint).backward);
  const ForwardBackwardTraces traces = split_into_forward_and_backward(canonical_order(joint));
  for (const BoundSymbol& bound : traces.backward.bound_symbols)
    for (const ForwardOrigin& origin : bound.forward_origins()) {
      bool is_line = false;
      for (const BoundSymbol& line : traces.forward.bound_symbols)
        is_line = is_line || (line.symbol->qualified_name() == origin.symbol && !line.outputs.empty() &&
                              line.outputs[0].is_tensor() && line.outputs[0].tensor().id == origin.id &&
                              line.outputs[0].tensor().name == origin.result);
      expect(is_line, origin.result + " " + origin.symbol);
    }
  expect_equal(links(traces.backward).size(), before.size());
}

TEST("a link to a merged op becomes one to the op it was merged into") {
  const Trace recorded = record_raw({parameter({3})}, [](auto& x) -> std::vector<Tensor> {
    const Tensor a = sin(x[0]);
    const Tensor b = sin(x[0]);
    return {mul(a, b)};
  });
  const Trace joint = eliminate_common_subexpressions(grad_transform_on_trace(recorded));
  for (const std::string& link : links(joint)) expect(link.find(" t1 ") == std::string::npos, link);
}

TEST("a fused op lists its forward ops, and names the fusion that runs them") {
  const auto f = called([](Tensor x, Tensor w) { return sum(tanh(matmul(exp(sin(x)), w))); },
                        randn({3, 3}).requires_grad_(), randn({3, 3}).requires_grad_());
  const Trace forward = fuse_pointwise(last_traces(f).back(), "fusion");
  std::vector<Trace> backward{fuse_pointwise(last_backward_traces(f).back(), "backward_fusion")};
  name_forward_ops(backward, forward);
  check_trace(forward);
  check_trace(backward[0]);
  expect_python(backward[0], R"(
# Constructed by Delete Last Used
import torch

def clear_collection(collection):
  if isinstance(collection, list):
    collection.clear()

def backward_fusion0(t3, t7):
  t8 = torch.mul(t3, t3)
  t9 = torch.sub(1, t8)
  t10 = torch.mul(t7, t9)
  return (t10,)

def backward_fusion1(t12, t1, t_0):
  t15 = torch.mul(t12, t1)
  t16 = torch.cos(t_0)
  t17 = torch.mul(t15, t16)
  return (t17,)

@torch.no_grad()
def backward_fn(saved_for_backward, cotangents):
  # saved_for_backward: "Collection"
  # cotangents: "Collection"
  C0, \
  _, \
  = saved_for_backward
  clear_collection(saved_for_backward)
  del saved_for_backward
  t5, \
  = cotangents
  clear_collection(cotangents)
  del cotangents
  t3, \
  t_1, \
  t1, \
  t_0, \
  = C0
  clear_collection(C0)
  del C0
  t6 = torch.reshape(t5, (1, 1))  # t6: "cpu f32[1, 1]", forward: t4: "torch.sum"
  del t5
  t7 = torch.Tensor.expand(t6, (3, 3))  # t7: "cpu f32[3, 3]", forward: t4: "torch.sum"
  del t6
  [t10] = backward_fusion0(t3, t7)  # forward: t3: "torch.tanh"
    # t8 = prims.mul(t3, t3)  # t8: "cpu f32[3, 3]"
    # t9 = prims.sub(1, t8)  # t9: "cpu f32[3, 3]"
    # t10 = prims.mul(t7, t9)  # t10: "cpu f32[3, 3]"
  del t3, t7
  t11 = torch.transpose(t_1, -2, -1)  # t11: "cpu f32[3, 3]", forward: t2: "torch.matmul"
  del t_1
  t12 = torch.matmul(t10, t11)  # t12: "cpu f32[3, 3]", onednn, forward: t2: "torch.matmul"
  del t11
  t13 = torch.transpose(t1, -2, -1)  # t13: "cpu f32[3, 3]", forward: t2: "torch.matmul"
  t14 = torch.matmul(t13, t10)  # t14: "cpu f32[3, 3]", onednn, forward: t2: "torch.matmul"
  del t13, t10
  [t17] = backward_fusion1(t12, t1, t_0)  # forward: t1: "torch.exp", in fusion0, t0: "torch.sin", in fusion0
    # t15 = prims.mul(t12, t1)  # t15: "cpu f32[3, 3]"
    # t16 = prims.cos(t_0)  # t16: "cpu f32[3, 3]"
    # t17 = prims.mul(t15, t16)  # t17: "cpu f32[3, 3]"
  del t12, t1, t_0
  return (t17, t14)
)");
}

TEST("a fusion of the joint trace that executors undo leaves each op its link") {
  const auto fuse = [](const Trace& joint) { return fuse_pointwise(joint, "fusion"); };
  const auto function = [](Tensor x, Tensor w) { return sum(tanh(matmul(exp(sin(x)), w))); };
  const auto f = jit(function, {.debug = {.associate_forward = true, .check_traces = true}});
  const auto fused = with_transforms(f, {fuse});
  const Tensor x = randn({3, 3}).requires_grad_(), w = randn({3, 3}).requires_grad_();
  f(x, w);
  fused(x, w);
  expect_equal(links(last_backward_traces(fused).back()), links(last_backward_traces(f).back()));
}
