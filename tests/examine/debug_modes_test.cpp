#include <algorithm>
#include <functional>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

template <class F>
std::string error_of(const F& run) {
  try {
    run();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST("check_nan names the first op that makes a NaN from clean arguments, and the user's line") {
  const auto f = jit(
      [](Tensor x) {
        const Tensor shifted = x - 1.0;
        const Tensor rooted = sqrt(shifted);
        return rooted * 2.0;
      },
      {.executors = {"eager"}, .debug = {.check_nan = true}});
  f(full({3}, 2.0));
  const std::string error = error_of([&] { f(zeros({3})); });
  expect(
      has(error,
          "check_nan: auto t1 = sqrt(t0); on eager of computation made nan at element [0] of t1 from finite arguments"),
      error);
  expect(has(error, "debug_modes_test.cpp:31"), error);
}

TEST("check_nan names an infinity, but none that a number brought") {
  const auto f = jit([](Tensor x) { return exp(x); }, {.executors = {"eager"}, .debug = {.check_nan = true}});
  const std::string error = error_of([&] { f(full({2}, 1000.0)); });
  expect(has(error, "made inf at element [0] of t0 from finite arguments"), error);
  const auto masked = jit([](Tensor x, Tensor m) { return softmax(masked_fill(x, m, -INFINITY), 0); },
                          {.executors = {"eager"}, .debug = {.check_nan = true}});
  expect_near(masked(zeros({2}), tensor({true, false})).to_vector<float>(), {0, 1});
}

TEST("check_nan looks inside fusions") {
  const int line = SourceLocation::here().line;
  const auto f = jit(
      [](Tensor x) {
        const Tensor shifted = x - 1.0;
        const Tensor logarithm = log(shifted);
        return tanh(logarithm * 2.0);
      },
      {.executors = {"fuser"}, .debug = {.check_nan = true}});
  const std::string error = error_of([&] { f(zeros({4, 8})); });
  expect(has(error,
             "check_nan: auto t1 = log(t0); in fusion0 of computation made nan at element [0, 0] of t1 from finite "
             "arguments"),
         error);
  expect(has(error, "debug_modes_test.cpp:" + std::to_string(line + 4)), error);
}

TEST("check_nan watches the backward") {
  const auto f = jit([](Tensor x) { return sum(sqrt(x)); },
                     {.executors = {"eager"}, .debug = {.associate_forward = true, .check_nan = true}});
  const Tensor x = zeros({3}).requires_grad_();
  const Tensor y = f(x);
  const std::string error = error_of([&] { y.backward(); });
  expect(has(error, "of backward_fn") && has(error, "for t0: \"torch.sqrt\"") && has(error, "made inf"), error);
}

TEST("check_nan of a NaN that an argument brought says so of the result") {
  const auto f = jit([](Tensor x) { return x * 2.0; }, {.debug = {.check_nan = true}});
  const std::string error = error_of([&] { f(full({2}, NAN)); });
  expect(has(error, "check_nan: element 0 of result 0 (cpu f32[2]) is NaN"), error);
}

TEST("verify_against_eager compares every op that another executor runs") {
  OperatorExecutor faulty("wrong_exp");
  faulty.register_implementation(*find_symbol("exp"), [](Tensor x) { return exp(x) + 0.5; });
  register_executor(faulty);
  const auto f = jit(
      [](Tensor x) {
        const Tensor grown = exp(x);
        return sum(grown * 0.0);
      },
      {.executors = {"wrong_exp"}, .debug = {.verify_against_eager = true}});
  const std::string error = error_of([&] { f(zeros({2})); });
  expect(
      has(error,
          "verify_against_eager: auto t0 = exp(t_0); on wrong_exp of computation: t0: element [0] is 1.5, and 1.0 on "
          "eager"),
      error);
  const auto right = jit([](Tensor x) { return tanh(exp(x) + 1.0); },
                         {.executors = {"fuser"}, .debug = {.verify_against_eager = true}});
  right(randn({8, 8}));
}

TEST("callbacks are called for every op of forward and backward") {
  const auto f = jit([](Tensor x) { return sum(exp(x) * x); }, {.executors = {"eager"}});
  std::string reported;
  const auto watched = examine::with_callbacks(f, {.before =
                                                       [&](const BoundSymbol& bound, const std::vector<Tensor>& given) {
                                                         reported += bound.name() + "(" + std::to_string(given.size());
                                                       },
                                                   .after =
                                                       [&](const BoundSymbol&, const std::vector<Tensor>& results) {
                                                         reported += ")->" + std::to_string(results.size()) + " ";
                                                       }});
  const Tensor x = randn({3}).requires_grad_(), same = x.detach().clone().requires_grad_();
  watched(x).backward();
  f(same).backward();
  expect(reported.starts_with("exp(1)->1 mul(2)->1 sum(1)->1 "), reported);
  expect(reported.size() > 60, reported);
  expect_equal(x.grad().to_vector<float>(), same.grad().to_vector<float>());
}

TEST("the results of callbacks are printed above the ops of the trace") {
  const auto f = jit([](Tensor x) { return exp(x) * 2.0; }, {.executors = {"eager"}});
  int calls = 0;
  const auto watched =
      examine::with_callbacks(f, {.before = [&](const BoundSymbol& bound, const std::vector<Tensor>&) -> std::string {
                                    return bound.name() == "mul" ? "call " + std::to_string(++calls) : "";
                                  },
                                  .after =
                                      [](const BoundSymbol&, const std::vector<Tensor>& results) {
                                        return "makes " + std::to_string(results.size()) + " tensor\nof " +
                                               std::to_string(results.at(0).numel().hint());
                                      }});
  f(zeros({3}));
  watched(zeros({3}));
  watched(zeros({3}));
  const std::vector<Trace> stages = last_traces(watched);
  expect_trace(stages.back(), R"(
// Constructed by Callbacks
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

Tensor computation(Tensor t_0) {
  // t_0: "cpu f32[3]"
  // makes 1 tensor
  // of 3
  auto t0 = exp(t_0);  // t0: "cpu f32[3]"
  del(t_0);
  // call 2
  // makes 1 tensor
  // of 3
  auto t1 = mul(t0, 2.0);  // t1: "cpu f32[3]"
  del(t0);
  return t1;
}
)");
  expect_equal(last_traces(f).size() + 1, stages.size());
  expect_equal(examine::run_slice(stages.back(), 0, static_cast<int>(stages.back().bound_symbols.size()), {ones({3})})
                   .at(0)
                   .to_vector<float>(),
               f(ones({3})).to_vector<float>());
}

TEST("the results of a backward's callbacks are printed in its trace") {
  const auto f =
      jit([](Tensor x) { return sum(exp(x)); }, {.executors = {"eager"}, .debug = {.associate_forward = true}});
  const auto watched = examine::with_callbacks(
      f, {.after = [](const BoundSymbol& bound, const std::vector<Tensor>&) { return "ran " + bound.name(); }});
  watched(zeros({3}).requires_grad_()).backward();
  expect(has(last_traces(watched).back().python(), "  # ran exp\n"), last_traces(watched).back().python());
  expect(has(last_backward_traces(watched).back().python(), "  # ran mul\n"),
         last_backward_traces(watched).back().python());
}

TEST("check_nan finds a NaN that does not reach a fusion's results") {
  const auto f = jit(
      [](Tensor x) {
        const Tensor logarithm = log(x);
        return where(x > 0.0, logarithm * 2.0, 0.0);
      },
      {.executors = {"fuser"}, .debug = {.check_nan = true}});
  f(zeros({4, 8}));  // an infinity that is left out is how many functions are computed
  const std::string error = error_of([&] { f(full({4, 8}, -1.0)); });
  expect(has(error,
             "check_nan: auto t1 = log(t_0); in fusion0 of computation made nan at element [0, 0] of t1 from finite "
             "arguments"),
         error);
}

namespace {

// A fusing executor that runs another program than its region.
void register_spoiled(const char* name, const std::function<void(Trace&)>& spoil) {
  FusionExecutor fusing(name);
  for (const char* fused : {"add", "tanh", "exp", "mul", "neg"}) fusing.register_supported(*find_symbol(fused));
  fusing.fuse = [spoil](const Region& region) {
    Trace spoiled = region.trace;
    spoil(spoiled);
    return Fusion{.run = [spoiled](const std::vector<Tensor>& inputs) { return evaluate(spoiled, inputs); }};
  };
  register_executor(fusing);
}

}  // namespace

TEST("verify_against_eager names the op inside a fusion whose later ops show the difference") {
  register_spoiled("wrong_exp_inside", [](Trace& region) {
    for (BoundSymbol& bound : region.bound_symbols.change())
      if (bound.name() == "exp") bound.symbol = find_symbol("sin");
  });
  const auto f = jit(
      [](Tensor x) {
        const Tensor small = tanh(x);
        const Tensor grown = exp(small);
        return tanh(grown + 1.0) * 2.0;
      },
      {.executors = {"wrong_exp_inside"}, .debug = {.verify_against_eager = true}});
  const std::string error = error_of([&] { f(zeros({2})); });
  expect(has(error, "verify_against_eager: auto t1 = exp(t0); in fusion0 of computation: t1: element [0] is "), error);
}

TEST("a fusion's op that is right as the last one, and wrong with its consumer, is found") {
  register_spoiled("wrong_neg_inside", [](Trace& region) {
    const auto lines = region.bound_symbols.read();
    if (std::ranges::none_of(lines, [](const BoundSymbol& bound) { return bound.name() == "mul"; })) return;
    for (BoundSymbol& bound : region.bound_symbols.change())
      if (bound.name() == "neg") bound.symbol = find_symbol("cos");
  });
  const auto f = jit(
      [](Tensor x, Tensor y) {
        const Tensor grown = tanh(exp(y));
        const Tensor other = neg(x);
        return tanh(other * 2.0) * grown;
      },
      {.executors = {"wrong_neg_inside"}, .debug = {.verify_against_eager = true}});
  const std::string error = error_of([&] { f(ones({2}), ones({2})); });
  expect(has(error, "= neg(t_0); in fusion0 of computation: "), error);
}

TEST("writes in place are done op by op too") {
  const auto update = [](Tensor x, Tensor y) {
    const Tensor old = x * 2.0;
    x.add_(y);
    return old + x;
  };
  const auto f = jit(update), watched = examine::with_callbacks(f, {});
  const Tensor a = ones({3}), b = ones({3}), y = full({3}, 5.0);
  expect_equal(watched(a, y).to_vector<float>(), f(b, y).to_vector<float>());
  expect_equal(a.to_vector<float>(), b.to_vector<float>());
}
