#include <sstream>

#include <fulgurite/fulgurite.h>
#include <fulgurite/models/gpt.h>

#include "ir/analysis/trace_values.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

Tensor program(Tensor x, Tensor w) {
  const Tensor a = matmul(x, w);
  const Tensor b = exp(a);
  const Tensor c = sum(b, 1, true);
  return b / c;
}

Trace recorded() { return canonical_order(trace(program, randn({3, 4}), randn({4, 5}))); }

void expect_same(const Tensor& actual, const Tensor& expected, SourceLocation at = SourceLocation::here()) {
  expect_equal(actual.to_vector<float>(), expected.to_vector<float>(), at);
}

}  // namespace

TEST("a slice takes its ops' inputs and returns the values that later ops read") {
  expect_trace(examine::slice(recorded(), 1, 3), R"(
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

std::tuple<Tensor, Tensor> slice(Tensor t0) {
  // t0: "cpu f32[3, 5]"
  auto t1 = exp(t0);  // t1: "cpu f32[3, 5]"
  auto t2 = sum(t1, {1}, true);  // t2: "cpu f32[3, 1]"
  return {t1, t2};
}
)");
  expect_equal(examine::slice(recorded(), 2, 2).bound_symbols.size(), 1);
  expect_error([] { examine::slice(recorded(), 3, 9); }, "lines [3, 9) of computation, which has 5 lines");
}

TEST("run_slice runs ops on any executors, and on those that claimed them") {
  const Tensor x = randn({3, 5});
  const std::vector<Tensor> wanted = {exp(x), sum(exp(x), 1, true)};
  const std::vector<std::vector<std::string>> lists = {{}, {"eager"}, {"fuser"}};
  for (const std::vector<std::string>& executors : lists) {
    const std::vector<Tensor> results = examine::run_slice(recorded(), 1, 3, {x}, executors);
    expect_equal(results.size(), 2);
    expect_near(results[0].to_vector<float>(), wanted[0].to_vector<float>());
    expect_near(results[1].to_vector<float>(), wanted[1].to_vector<float>());
  }
  const auto f = jit(program, {.executors = {"fuser"}});
  const Tensor a = randn({3, 4}), w = randn({4, 5});
  const Tensor whole = f(a, w);
  const Trace last = last_traces(f).back();
  expect_same(examine::run_slice(last, 0, static_cast<int>(last.bound_symbols.size()), {a, w})[0], whole);
}

TEST("run_slice says what it takes") {
  expect_error([] { examine::run_slice(recorded(), 0, 1, {}); },
               "run_slice: lines [0, 1) of computation take 2 tensors (t_0, t_1), got 0");
  expect_error([] { examine::run_slice(recorded(), 1, 2, {randn({2})}); },
               "run_slice: t0 is cpu f32[3, 5], got cpu f32[2]");
}

TEST("make_inputs lays tensors out as described, and draws nothing") {
  const Trace t = trace([](Tensor x, Tensor index, Tensor mask) { return where(mask, x, x * 2.0) + index; },
                        randn({3, 4}), randint(0, 2, {3, 4}), ones({3, 4}) > 0.0);
  manual_seed(1);
  const float before = rand({1}).item<float>();
  manual_seed(1);
  const std::vector<Tensor> inputs = examine::make_inputs(t, {{"t_0", {1, 3}}, {"t_1", {{4, 1}, 2}}});
  expect_equal(rand({1}).item<float>(), before);
  expect_equal(inputs[0].strides()[0].hint(), 1);
  expect_equal(inputs[0].strides()[1].hint(), 3);
  for (const float value : inputs[0].contiguous().to_vector<float>()) expect(value >= -2 && value < 2);
  for (const int64_t value : inputs[1].to_vector<int64_t>()) expect(value == 0 || value == 1);
  expect_equal(inputs[2].dtype(), Dtype::boolean);
  expect_same(examine::make_inputs(t)[0], examine::make_inputs(t)[0]);
  expect_different(examine::make_inputs(t, {}, 1)[0].to_vector<float>(),
                   examine::make_inputs(t, {}, 2)[0].to_vector<float>());
  expect_error([&] { examine::make_inputs(t, {{"t_9", {1}}}); }, "make_inputs: computation has no input t_9");
  expect_error(
      [&] {
        examine::make_inputs(t, {{"t_0", {1}}});
      },
      "make_inputs: t_0 has 2 dimensions, and 1 strides are given");
}

TEST("any slice of a training step has the values of the complete run") {
  manual_seed(3);
  const models::Gpt model = models::make_gpt({.vocabulary = 17, .layers = 2, .heads = 2, .width = 16, .block = 8});
  const auto loss = [](models::Gpt gpt, Tensor tokens, Tensor targets) { return gpt.loss(tokens, targets); };
  const auto f = jit(loss, {.executors = {"onednn", "fuser"}});
  const Tensor tokens = randint(0, 17, {2, 8}), targets = randint(0, 17, {2, 8});
  f(model, tokens, targets).backward();
  std::map<std::string, Tensor> in_forward;  // what the backward takes of it
  const std::vector<Trace> traces = {last_traces(f).back(), last_backward_traces(f).back()};
  for (const Trace& whole : traces) {
    std::vector<Tensor> inputs = examine::make_inputs(whole);
    size_t next = 0;
    for (const Value& input : input_values(whole))
      if (input.is_tensor()) {
        if (const auto saved = in_forward.find(input.tensor().name); saved != in_forward.end())
          inputs[next] = saved->second;
        ++next;
      }
    const std::map<std::string, Tensor> values = examine::run_lines(whole, inputs);
    in_forward.insert(values.begin(), values.end());
    const int count = static_cast<int>(whole.bound_symbols.size());
    uint32_t random = 7;
    for (int i = 0; i < 12; ++i) {
      random = random * 1664525 + 1013904223;
      const int a = static_cast<int>(random >> 8) % count;
      random = random * 1664525 + 1013904223;
      const int b = static_cast<int>(random >> 8) % count;
      const int first = std::min(a, b), last = std::max(a, b) + 1;
      const Trace part = examine::slice(whole, first, last);
      std::vector<Tensor> given;
      for (const Value& arg : part.args) given.push_back(values.at(arg.tensor().name));
      const std::vector<Tensor> as_claimed = examine::run_slice(whole, first, last, given);
      const std::vector<Tensor> on_eager = examine::run_slice(whole, first, last, given, {"eager"});
      const BoundSymbol& result = part.bound_symbols.read().back();
      for (size_t k = 0; k < as_claimed.size(); ++k) {
        const Tensor& wanted = values.at(result.args.read()[k].tensor().name);
        expect_near(as_claimed[k].contiguous().to(Dtype::f64).to_vector<double>(),
                    wanted.contiguous().to(Dtype::f64).to_vector<double>(), 0);
        expect_near(on_eager[k].contiguous().to(Dtype::f64).to_vector<double>(),
                    wanted.contiguous().to(Dtype::f64).to_vector<double>(), 1e-3);
      }
    }
  }
}
