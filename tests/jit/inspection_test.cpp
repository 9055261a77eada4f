#include <fulgurite/error.h>
#include <fulgurite/fulgurite.h>

#include "support/test.h"

namespace fulgurite {

namespace {

struct Model {
  std::vector<Tensor> weights;
  int repeats = 2;
  Tensor operator()(Tensor x) const {
    for (int i = 0; i < repeats; ++i) x = x * weights[0] + weights[1];
    return x;
  }
};

}  // namespace

TEST("the prologue unpacks the arguments and guards them") {
  Model model{{ones({2}), ones({2})}};
  const auto f = jit(std::ref(model));
  f(ones({2}));
  const std::vector<Trace> stages = last_prologue_traces(f);
  expect_equal(stages.size(), 2u);
  expect_equal(stages[0].provenance, std::string());
  expect_equal(stages[1].provenance, std::string("Transform for execution"));
  const std::string text = stages[0].python({.time = false, .source = false});
  for (const char* line : {"def prologue(t_0, model, modes):", "check_tensor(t_0, (2,), 'cpu', torch.float32, False)",
                           "check_number(n_repeats, 2)", "return (t_0, t_weights_0, t_weights_1)"})
    expect(text.find(line) != std::string::npos, std::string("the prologue lacks: ") + line + "\n" + text);
}

TEST("explain says when, why, how long and what was captured") {
  const Tensor w = ones({2});
  const auto f = jit([=](Tensor x) { return x * w; });
  f(ones({2}));
  f(ones({3, 2}));
  f(ones({2}).requires_grad_());
  f(ones({2}));
  const std::string text = explain(f);
  for (const char* part : {"4 calls, 1 hit, 3 compiles", "why: first call", "t_0: cpu f32[3, 2] instead of cpu f32[2]",
                           "captured: t_1: cpu f32[2]", "inspection_test.cpp:", "forward and backward"})
    expect(text.find(part) != std::string::npos, std::string("explain lacks: ") + part + "\n" + text);
}

TEST("statistics count calls and time phases") {
  const auto f = jit([](Tensor x) { return x + 1; });
  expect_equal(compile_stats(f).calls, 0);
  f(ones({2}));
  f(ones({2}));
  const CompileStats stats = compile_stats(f);
  expect_equal(stats.calls, 2);
  expect_equal(stats.hits, 1);
  expect_equal(stats.misses, 1);
  expect(stats.total > 0 && stats.tracing > 0);
  expect_greater(stats.last_call, 0);
}

TEST("before the first call there are no traces") {
  const auto f = jit([](Tensor x) { return x; });
  expect_error([&] { last_traces(f); }, "has not been called yet");
}

TEST("transforms of the user's run between the gradient and the executors") {
  int runs = 0;
  const auto f = jit([](Tensor x) { return x + 1; });
  const auto g = with_transforms(f, {[&](const Trace& trace) {
                                   ++runs;
                                   return trace;
                                 }});
  expect_near(g(ones({1})).to_vector<float>(), {2});
  expect_equal(runs, 1);
  expect_equal(cache_misses(f), 0);
}

// The error goes to the caller that passes `pass` to a function that is then called.
void expect_refused(const Transform& pass, const std::string& message, bool is_differentiated = false) {
  const auto f = with_transforms(jit([](Tensor x) { return tanh(sin(x)); }), {pass});
  expect_error([&] { f(is_differentiated ? ones({2, 3}).requires_grad_() : ones({2, 3})); }, message);
}

Value with_shape(const Value& tensor, Shape shape) {
  auto* proxy = new TensorProxy(tensor.tensor());
  proxy->shape = shape;
  return Value(detail::Ref<TensorProxy>(proxy));
}

TEST("the trace of a user's transform is always checked") {
  const Transform grows = [](const Trace& trace) {
    Trace out = trace;
    for (BoundSymbol& bound : out.bound_symbols.change())
      if (bound.name() == "sin") bound.outputs.change()[0] = with_shape(bound.outputs.read()[0], {64, 64});
    return out;
  };
  for (const bool is_differentiated : {false, true})
    expect_refused(
        grows,
        "after \"User transform\", transform 0 of those given to with_transforms: the trace computation is broken, "
        "symbol 0 (torch.sin): t0 is cpu f32[64, 64], its rule says cpu f32[2, 3]",
        is_differentiated);
  expect_refused(
      [](const Trace& trace) {
        Trace out = trace;
        Value more = with_shape(trace.args[0], {64, 64});
        auto* proxy = new TensorProxy(more.tensor());
        proxy->id = out.next_id++;
        proxy->name = "more";
        out.args.emplace_back(detail::Ref<TensorProxy>(proxy));
        return out;
      },
      "it takes 2 arguments, before it were 1");
  expect_refused(
      [](const Trace& trace) {
        Trace out = trace;
        out.bound_symbols.change().back().args.push_back(out.bound_symbols.read()[0].outputs.read()[0]);
        return out;
      },
      "it returns 2 values, before it were 1");
  expect_refused([](const Trace&) { return Trace(); }, "it has no return");
}

TEST("unsupported options are errors, and unknown ones list the known") {
  const auto identity = [](Tensor x) { return x; };
  expect_error([&] { jit(identity, {.executors = {"fast"}}); }, "registered are");
  expect_error(
      [&] {
        jit(identity, {.skip_transforms = {{"fusion", "dce"}}});
      },
      "those that can be skipped are cse, dce, recomputation");
  graph_break();
}

TEST("a tensor of a trace that ended is refused with the line of its birth") {
  Tensor kept;
  const auto f = jit([&](Tensor x) {
    kept = x * 2;
    return x;
  });
  f(ones({1}));
  expect_error([&] { jit([](Tensor x) { return x; })(kept); }, "a trace that has ended");
}

TEST("check_nan and verify_against_eager find what is wrong") {
  const auto f = jit([](Tensor x) { return log(x); }, {.debug = {.check_nan = true}});
  f(ones({2}));
  expect_error([&] { f(full({2}, -1.0)); }, "made nan at element [0] of t0");

  double factor = 1;
  const auto g = jit([&](Tensor x) { return x * factor; }, {.debug = {.verify_against_eager = true}});
  g(ones({2}));
  factor = 2;
  expect_error([&] { g(ones({2})); }, "element 0 is 1.0 compiled and 2.0 eager");

  const auto draws = jit([](Tensor x) { return x + rand({2}); }, {.debug = {.verify_against_eager = true}});
  draws(ones({2}));
  draws(ones({2}));
}

}  // namespace fulgurite
