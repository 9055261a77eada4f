#include <sstream>

#include <fulgurite/fulgurite.h>
#include <fulgurite/models/gpt.h>

#include "runtime/plan/execution_plan.h"
#include "support/programs/record.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

std::string text_of(const examine::MemoryReport& report) {
  std::ostringstream out;
  out << report;
  return out.str();
}

std::vector<int64_t> bytes_of(const examine::MemoryReport& report) {
  std::vector<int64_t> out;
  for (const auto& line : report.lines) out.push_back(line.bytes);
  return out;
}

Trace chain() {
  return record({f32({2, 3}), f32({3, 4})}, [](auto& x) -> std::vector<Tensor> {
    const Tensor a = matmul(x[0], x[1]);  // 32 bytes beside 24 + 48
    const Tensor b = exp(a);
    const Tensor c = sum(b, 1);  // 8 bytes
    return {c};
  });
}

}  // namespace

TEST("memory counts live values after each op, the peak and its op") {
  const examine::MemoryReport report = examine::memory(chain());
  expect_equal(report.input_bytes, 72);
  expect_equal(bytes_of(report), std::vector<int64_t>{104, 136, 112, 80});
  expect_equal(report.peak_bytes, 136);
  expect_equal(report.peak_line, 1);
  expect_equal(report.result_bytes, 8);
  expect_equal(report.lines[1].name, std::string("torch.exp"));
  expect_equal(report.lines[1].text, std::string("auto t1 = exp(t0);"));
  expect(report.saved.empty());
}

TEST("memory with deletions: a value lives until its del, an argument belongs to the caller") {
  const examine::MemoryReport report = examine::memory(delete_last_used(chain()));
  // matmul, del(t_0, t_1), exp, del(t0), sum, del(t1), return
  expect_equal(bytes_of(report), std::vector<int64_t>{104, 104, 136, 104, 112, 80, 80});
  expect_equal(report.peak_bytes, 136);
  expect_equal(report.peak_line, 2);
}

TEST("memory prints as a table") {
  expect_text(text_of(examine::memory(chain())), R"(
bytes  alive after
   72  the inputs
  104  auto t0 = matmul(t_0, t_1);
  136  auto t1 = exp(t0);  <- peak
  112  auto t2 = sum(t1, {1});
   80  return t2;
inputs 72 B, results 8 B, peak 136 B
)");
}

TEST("memory counts a storage once, however many views it has") {
  const Trace trace = record({f32({4, 6})}, [](auto& x) -> std::vector<Tensor> {
    const Tensor a = exp(x[0]);                            // 96 bytes
    const Tensor b = transpose(a, 0, 1);                   // a view
    const Tensor c = reshape(a, {24});                     // a view
    const Tensor d = reshape(b, {24});                     // the strides allow no view: 96 bytes
    const std::vector<Tensor> halves = split(x[0], 2, 0);  // views of the argument
    const Tensor e = x[0](Slice(0, 1), None);              // a composite of views
    return {c, d, halves[1], e};
  });
  const examine::MemoryReport report = examine::memory(trace);
  expect_equal(report.input_bytes, 96);
  expect_equal(report.peak_bytes, 3 * 96);
  expect_equal(report.result_bytes, 3 * 96);
  for (const auto& line : report.lines) {
    if (line.name == "torch.exp") expect_equal(line.bytes, 2 * 96);
    if (line.name == "torch.transpose") expect_equal(line.bytes, 2 * 96);
  }
}

TEST("memory of a view outlives the name of what it views") {
  const Trace trace = delete_last_used(record({f32({4})}, [](auto& x) -> std::vector<Tensor> {
    const Tensor a = exp(x[0]);
    const Tensor b = reshape(a, {2, 2});
    return {sum(b)};
  }));
  // exp, del(t_0), reshape, del(t0), sum, del(t1), return
  expect_equal(bytes_of(examine::memory(trace)), std::vector<int64_t>{32, 32, 32, 32, 36, 20, 20});
}

TEST("memory of an op of several results, used and unused") {
  const Trace trace = record({f32({2, 8})}, [](auto& x) -> std::vector<Tensor> {
    const auto [variance, mean] = var_mean(x[0], 1);
    return {mean};
  });
  const examine::MemoryReport report = examine::memory(trace);
  expect_equal(bytes_of(report), std::vector<int64_t>{80, 72});
  expect_equal(report.result_bytes, 8);
}

TEST("memory of a write into an argument is the argument's") {
  const Trace trace = record({f32({4})}, [](auto& x) -> std::vector<Tensor> {
    Tensor t = x[0];
    t.add_(1);
    return {t};
  });
  const examine::MemoryReport report = examine::memory(trace);
  expect_equal(report.input_bytes, 16);
  expect_equal(report.peak_bytes, 32);
  expect_equal(report.lines.back().name, std::string("prims.return"));
}

TEST("memory of nothing") {
  const examine::MemoryReport empty = examine::memory(Trace());
  expect_equal(empty.peak_bytes, 0);
  expect(empty.lines.empty());
  const examine::MemoryReport nothing = examine::memory(record({}, [](auto&) { return std::vector<Tensor>(); }));
  expect_equal(bytes_of(nothing), std::vector<int64_t>{0});
  const examine::MemoryReport without_elements =
      examine::memory(record({f32({0, 3})}, [](auto& x) -> std::vector<Tensor> { return {exp(x[0])}; }));
  expect_equal(without_elements.peak_bytes, 0);
}

TEST("memory tells what is saved for the backward, and where it comes from") {
  const Trace recorded = record({parameter({2, 3}, "x"), parameter({3, 4}, "w")}, [](auto& t) -> std::vector<Tensor> {
    const Tensor a = matmul(t[0], t[1]);  // saves x and w, 24 + 48 bytes
    const Tensor b = sin(a);              // saves a, 32 bytes
    const Tensor c = exp(b);              // saves its result, 32 bytes
    return {c};
  });
  const ForwardBackwardTraces traces = forward_and_backward_from_trace(recorded);
  const examine::MemoryReport forward = examine::memory(traces.forward);
  expect_equal(forward.saved.size(), 4);
  expect_equal(forward.saved_bytes, 24 + 48 + 32 + 32);
  expect_equal(forward.saved_made_bytes, 32);
  expect_equal(forward.result_bytes, 32);
  int inputs = 0, results = 0, made = 0;
  for (const auto& saved : forward.saved) {
    inputs += saved.origin == examine::MemoryReport::Origin::input;
    results += saved.origin == examine::MemoryReport::Origin::result;
    made += saved.origin == examine::MemoryReport::Origin::made;
  }
  expect_equal(std::vector<int>{inputs, results, made}, std::vector<int>{2, 1, 1});

  const examine::MemoryReport backward = examine::memory(traces.backward);
  expect_equal(backward.saved_bytes, forward.saved_bytes);
  expect_equal(backward.input_bytes, forward.saved_bytes + 32);  // and the cotangent
  expect_equal(backward.result_bytes, 24 + 48);
  const examine::MemoryReport joint = examine::memory(grad_transform_on_trace(recorded));
  expect_equal(joint.saved_bytes, forward.saved_bytes);
  expect_equal(joint.saved_made_bytes, forward.saved_made_bytes);
}

TEST("memory counts a saved view with what it views") {
  const Trace recorded = record({parameter({2, 2}, "x")}, [](auto& t) -> std::vector<Tensor> {
    const Tensor a = exp(t[0]);  // saves its result
    const Tensor b = transpose(a, 0, 1);
    return {mul(sin(b), a)};  // saves b, of the same storage, and more
  });
  const examine::MemoryReport report = examine::memory(forward_and_backward_from_trace(recorded).forward);
  int64_t sum = 0;
  int shared = 0;
  for (const auto& saved : report.saved) {
    if (saved.shares_with.empty()) sum += saved.bytes;
    else ++shared;
  }
  expect_equal(shared, 1);
  expect_equal(sum, report.saved_bytes);
  expect_equal(report.saved_bytes, 32);
}

TEST("memory lets go of what comes out of a collection when it is deleted") {
  const auto f = jit([](Tensor x) { return sum(exp(sin(x))); });
  f(randn({8}).requires_grad_());
  const examine::MemoryReport report = examine::memory(last_backward_traces(f).back());
  expect_equal(report.lines.back().bytes, report.result_bytes);
  expect_equal(report.result_bytes, 32);
  const examine::MemoryReport forward = examine::memory(last_traces(f).back());
  expect_equal(forward.saved_bytes, report.saved_bytes);
}

TEST("memory of a training step is what its program plans, what is written into inputs included") {
  manual_seed(0);
  models::Gpt model = models::make_gpt({.vocabulary = 500, .layers = 2, .heads = 2, .width = 64, .block = 32});
  optim::AdamW optimizer(nn::parameters(model), {.lr = 1e-3});
  const auto step = jit([&](Tensor tokens, Tensor targets) {
    const auto loss_of = [](models::Gpt m, Tensor x, Tensor y) { return m.loss(x, y); };
    const auto [loss, gradients] = value_and_grad<0>(loss_of)(model, tokens, targets);
    std::vector<Tensor> flat;
    for (const auto& [name, gradient] : nn::model_detail::named_tensors(gradients))
      if (gradient.defined()) flat.push_back(gradient);
    optimizer.step(nn::parameters(model), flat);
    return loss;
  });
  const NoGrad no_grad;
  for (const int64_t batch : {1, 4}) {
    step(randint(0, 500, {batch, 32}), randint(0, 500, {batch, 32}));
    const Trace trace = last_traces(step).back();
    const examine::MemoryReport report = examine::memory(trace);
    const auto predicted = static_cast<double>(report.peak_bytes - report.input_bytes);
    const auto planned = static_cast<double>(make_execution_plan(trace).arena_bytes);
    expect(planned >= 0.95 * predicted && planned <= 1.05 * predicted,
           "arena of " + std::to_string(planned) + " bytes, predicted " + std::to_string(predicted));
  }
}
