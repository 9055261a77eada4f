// Values that a backward saves of its forward, and values that it recomputes.
#include <set>

#include <fulgurite/fulgurite.h>
#include <fulgurite/models/gpt.h>

#include "ir/analysis/sizes.h"
#include "ir/analysis/trace_values.h"
#include "support/max_flow.h"
#include "support/programs/record.h"
#include "support/test.h"
#include "transforms/rematerialization/rematerialization.h"

namespace fulgurite {

using test::f32;
using test::parameter;
using test::record;

namespace {

// Names of saved values, including arguments.
std::vector<std::string> saved_names(const Trace& forward) {
  std::vector<std::string> names;
  for (const Value& value : keyword(forward.bound_symbols.back(), "saved_tensors").list())
    names.push_back(value.tensor().name);
  return names;
}

int64_t bytes_saved(const Trace& forward) {
  std::set<int> outside;
  for (const Value& value : input_values(forward))
    if (value.is_tensor()) outside.insert(value.tensor().id);
  int64_t bytes = 0;
  for (const Value& value : keyword(forward.bound_symbols.back(), "saved_tensors").list())
    if (!outside.contains(value.tensor().id)) bytes += bytes_of(value);
  return bytes;
}

ForwardBackwardTraces split_with(const Trace& trace, RecomputationOptions options = {}) {
  return split_into_forward_and_backward(choose_recomputation(grad_transform_on_trace(trace), options));
}

int count_ops(const Trace& trace, std::string_view name) {
  int count = 0;
  for (const BoundSymbol& bound : trace.bound_symbols) count += bound.name() == name;
  return count;
}

}  // namespace

TEST("the minimum cut nearest the sink") {
  MaxFlow graph(5);  // 0 -> 2 -> 3 -> 1 with equal capacities, and a side way through 4
  graph.add_edge(0, 2, 3);
  graph.add_edge(2, 3, 3);
  graph.add_edge(3, 1, 3);
  graph.add_edge(0, 4, 5);
  graph.add_edge(4, 1, MaxFlow::unlimited);
  expect_equal(graph.run(0, 1), int64_t{8});
  const std::vector<char> sink_side = graph.sink_side(1);
  expect_equal(static_cast<int>(sink_side[2]), 0);
  expect_equal(static_cast<int>(sink_side[3]), 0);
  expect_equal(static_cast<int>(sink_side[4]), 1);
  MaxFlow uncut(2);
  uncut.add_edge(0, 1, MaxFlow::unlimited);
  expect(uncut.run(0, 1) >= MaxFlow::unlimited, "what cannot be cut says so");
}

TEST("large pointwise results are recomputed from a matmul's result") {
  const Trace trace =
      record({f32({256, 64}), parameter({64, 64}), parameter({64, 64})}, [](const std::vector<Tensor>& a) {
        const Tensor hidden = matmul(a[0], a[1]);
        const Tensor active = tanh(sin(hidden));
        return std::vector<Tensor>{matmul(active, a[2])};
      });
  const ForwardBackwardTraces traces = split_with(trace);
  check_trace(traces.forward);
  check_trace(traces.backward);
  expect_text(traces.backward.python({.time = false, .source = false}), R"(
import torch

@torch.no_grad()
def backward_fn(saved_for_backward, cotangents):
  # saved_for_backward: "Collection"
  # cotangents: "Collection"
  C0, \
  _, \
  = saved_for_backward
  t4, \
  = cotangents
  t_2, \
  t0, \
  t_0, \
  = C0
  t5 = torch.transpose(t_2, -2, -1)  # t5: "cpu f32[64, 64]"
  t6 = torch.matmul(t4, t5)  # t6: "cpu f32[256, 64]"
  t1 = torch.sin(t0)  # t1: "cpu f32[256, 64]"
  t2 = torch.tanh(t1)  # t2: "cpu f32[256, 64]"
  t7 = torch.transpose(t2, -2, -1)  # t7: "cpu f32[64, 256]"
  t8 = torch.matmul(t7, t4)  # t8: "cpu f32[64, 64]"
  t9 = torch.mul(t2, t2)  # t9: "cpu f32[256, 64]"
  t10 = torch.sub(1, t9)  # t10: "cpu f32[256, 64]"
  t11 = torch.mul(t6, t10)  # t11: "cpu f32[256, 64]"
  t12 = torch.cos(t0)  # t12: "cpu f32[256, 64]"
  t13 = torch.mul(t11, t12)  # t13: "cpu f32[256, 64]"
  t14 = torch.transpose(t_0, -2, -1)  # t14: "cpu f32[64, 256]"
  t15 = torch.matmul(t14, t13)  # t15: "cpu f32[64, 64]"
  return (None, t15, t8)
)");
}

TEST("small results are kept: running a symbol again would cost more") {
  const Trace trace = record({f32({4, 8}), parameter({8, 8}), parameter({8, 8})}, [](const std::vector<Tensor>& a) {
    const Tensor active = tanh(matmul(a[0], a[1]));
    return std::vector<Tensor>{matmul(active, a[2])};
  });
  expect_equal(count_ops(split_with(trace).backward, "tanh"), 0);
}

TEST("a long chain is kept at intervals") {
  const Trace trace = record({parameter({64, 1024})}, [](const std::vector<Tensor>& a) {
    Tensor x = a[0];
    for (int i = 0; i < 40; ++i) x = sin(x);
    return std::vector<Tensor>{x};
  });
  const ForwardBackwardTraces traces = split_with(trace);
  expect_equal(saved_names(traces.forward).size(), size_t{4});
  check_trace(traces.backward);
}

TEST("a budget is kept, for as little work as it takes, or refused") {
  const Trace trace =
      record({f32({256, 64}), parameter({64, 64}), parameter({64, 64})}, [](const std::vector<Tensor>& a) {
        const Tensor hidden = matmul(a[0], a[1]);
        return std::vector<Tensor>{matmul(tanh(sin(hidden)), a[2])};
      });
  constexpr int64_t matrix = 256 * 64 * 4;
  const ForwardBackwardTraces generous = split_with(trace, {.memory_budget = 10 * matrix});
  expect_equal(count_ops(generous.backward, "sin"), 0);
  expect_equal(bytes_saved(generous.forward), 2 * matrix);
  const ForwardBackwardTraces exact = split_with(trace, {.memory_budget = matrix});
  expect_equal(bytes_saved(exact.forward), matrix);
  expect_error(
      [&] { split_with(trace, {.memory_budget = matrix - 1}); },
      "memory_budget: the backward needs at least 65536 bytes of the forward, more than the 65535 allowed; put "
      "checkpoint() around parts of the function, so that matmuls are recomputed too");
  expect_error([&] { jit([](Tensor x) { return x; }, {.memory_budget = -1}); },
               "memory_budget is a number of bytes, not -1");
}

TEST("the results of a checkpoint are saved; the values inside are recomputed") {
  const auto block = [](Tensor x, Tensor w) { return sin(matmul(cos(x), w)); };
  const Trace trace = record({parameter({8, 8}, "x"), parameter({8, 8}, "w")}, [&](const std::vector<Tensor>& a) {
    const auto kept = checkpoint(block);
    const Tensor first = kept(a[0], a[1]);
    const Tensor second = kept(first, a[1]);
    return std::vector<Tensor>{sum(kept(second, a[1]))};
  });
  const ForwardBackwardTraces traces = split_with(trace);
  check_trace(traces.forward);
  check_trace(traces.backward);
  expect_equal(saved_names(traces.forward).size(), size_t{4});  // x, w and the results of the first two blocks
  expect_equal(count_ops(traces.backward, "matmul"), 3 + 6);
}

TEST("a checkpoint inside a checkpoint belongs to the outer one") {
  const auto inner = checkpoint([](Tensor x) { return sin(cos(x)); });
  const auto outer = checkpoint([=](Tensor x) { return exp(inner(exp(x))); });
  const Trace trace =
      record({parameter({8}, "x")}, [&](const std::vector<Tensor>& a) { return std::vector<Tensor>{outer(a[0])}; });
  const ForwardBackwardTraces traces = split_with(trace);
  check_trace(traces.backward);
  for (const std::string& name : saved_names(traces.forward)) expect(name == "x" || name == "t4", name + " is saved");
}

TEST("one result of several leaves a checkpoint, another is recomputed") {
  const auto part = checkpoint([](Tensor x) {
    const auto [variance, mean] = var_mean(exp(x), 0);
    return std::pair(variance * mean, mean);
  });
  const auto f = [=](Tensor x) {
    const auto [product, mean] = part(x);
    return sum(product * mean * mean);
  };
  const auto plain = [](Tensor x) {
    const auto [variance, mean] = var_mean(exp(x), 0);
    return sum(variance * mean * mean * mean);
  };
  const Tensor x = tensor({0.5, -0.25, 0.75, 1.5});
  const Tensor gradient = jit(grad(f), {.debug = {.check_traces = true}})(x);
  expect_near(gradient.to_vector<float>(), grad(plain)(x).to_vector<float>());
}

TEST("a value compared with its extremum is saved, or recomputed together with the extremum in a checkpoint") {
  const auto largest = [](Tensor x) { return amax(abs(sin(x) * 0.5), {-1}); };
  const auto traces_of = [](auto f) {
    const Trace trace =
        record({parameter({256, 64}, "x")}, [&](const std::vector<Tensor>& a) { return std::vector<Tensor>{f(a[0])}; });
    ForwardBackwardTraces traces = split_with(trace);
    check_trace(traces.backward);
    return traces;
  };
  const ForwardBackwardTraces traces = traces_of(largest);
  expect_equal(saved_names(traces.forward), std::vector<std::string>{"t4", "t2", "x"});
  expect_equal(count_ops(traces.backward, "sin") + count_ops(traces.backward, "amax"), 0);

  const ForwardBackwardTraces inside = traces_of(checkpoint(largest));
  expect_equal(saved_names(inside.forward), std::vector<std::string>{"x"});
  expect_equal(count_ops(inside.backward, "sin"), 1);
  expect_equal(count_ops(inside.backward, "amax"), 1);
}

TEST("inside a compiled step a checkpointed part is still recomputed, and backward ops keep their order") {
  const auto block = [](Tensor x) { return tanh(sin(exp(x))); };
  const auto loss = [=](Tensor x) { return sum(checkpoint(block)(x)); };
  const auto step = jit(grad(loss));
  const Tensor x = tensor({0.1, 0.2});
  const Tensor expected = grad([=](Tensor t) { return sum(block(t)); })(x);
  expect_near(step(x).to_vector<float>(), expected.to_vector<float>());
  const std::vector<Trace> traces = last_traces(step);
  expect_equal(count_ops(traces.back(), "exp"), 2);
  expect_equal(count_ops(traces.back(), "sin"), 1);  // its result is not needed: tanh's is saved
  // Also for a checkpointed function differentiated twice.
  const Tensor second = jit(grad([=](Tensor t) { return sum(grad(loss)(t)); }))(x);
  const Tensor twice = grad([=](Tensor t) { return sum(grad([=](Tensor u) { return sum(block(u)); })(t)); })(x);
  expect_near(second.to_vector<float>(), twice.to_vector<float>());
}

TEST("draws inside a checkpoint are repeated from their saved state") {
  const auto noisy = checkpoint([](Tensor x) { return nn::dropout(exp(x), 0.5) * rand_like(x); });
  const auto f = jit([=](Tensor x) { return noisy(x); }, {.debug = {.check_traces = true}});
  for (int seed = 0; seed < 20; ++seed) {
    manual_seed(static_cast<uint64_t>(seed));
    const Tensor x = zeros({16}).requires_grad_();
    const Tensor y = f(x);
    sum(y).backward();
    expect_near(x.grad().to_vector<float>(), y.to_vector<float>());
  }
  const std::vector<Trace> traces = last_traces(f);
  expect_equal(bytes_saved(traces.back()), int64_t{32});  // two states
}

TEST("the blocks of a GPT keep at most 0.7 of what is kept without recomputation, a fifth with checkpoints") {
  const auto saved = [](bool with_checkpoints, bool choose) {
    models::Gpt model = models::make_gpt({.vocabulary = 16, .layers = 3, .heads = 4, .width = 128, .block = 64});
    const auto run = [&](Tensor x) {
      for (const models::GptBlock& block : model.blocks)
        x = with_checkpoints ? checkpoint([&block](Tensor t) { return block(t); })(x) : block(x);
      return x;
    };
    const Trace joint = grad_transform_on_trace(trace(run, randn({4, 64, 128}, {.requires_grad = true})));
    return bytes_saved(split_into_forward_and_backward(choose ? choose_recomputation(joint) : joint).forward);
  };
  const auto everything = static_cast<double>(saved(false, false));
  expect(static_cast<double>(saved(false, true)) <= 0.7 * everything, "chosen");
  expect(static_cast<double>(saved(true, true)) <= 0.2 * everything, "checkpointed");
}

TEST("a small argument that eager mode would not keep is copied rather than something large kept") {
  const auto traces_of = [](int64_t columns, int64_t rows) {
    const Trace trace =
        record({parameter({rows, columns}), parameter({columns}), parameter({columns})},
               [](const std::vector<Tensor>& a) { return std::vector<Tensor>{nn::gelu(a[0] * a[1] + a[2])}; });
    return split_into_forward_and_backward(choose_recomputation(grad_transform_on_trace(trace), {}, trace));
  };
  const ForwardBackwardTraces traces = traces_of(64, 4096);
  check_trace(traces.forward);
  check_trace(traces.backward);
  expect_equal(count_ops(traces.forward, "clone"), 1);
  expect_equal(bytes_saved(traces.forward), int64_t{64 * 4});
  // A copy as large as what it spares is not made.
  expect_equal(count_ops(traces_of(1 << 18, 1).forward, "clone"), 0);
}

}  // namespace fulgurite
