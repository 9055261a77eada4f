// When and how often a backward is compiled, and how one that cannot be compiled runs.
#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>

#include <fulgurite/fulgurite.h>

#include "support/stderr_text.h"
#include "support/test.h"

using namespace fulgurite;

namespace {

std::vector<float> values(const Tensor& t) { return t.contiguous().to_vector<float>(); }

void register_failing_executor() {
  OperatorExecutor executor("fails_to_compile");
  executor.register_implementation(*find_symbol("cos"), [](Tensor x) { return x; }, {.checker = [](Tensor) -> bool {
    throw std::runtime_error("the checker gave up");
  }});
  register_executor(executor);
}

Tensor custom_square(const Tensor& x) {
  struct Square {
    static Tensor forward(autograd::Context& context, Tensor t) {
      context.save_for_backward({t});
      return t * t;
    }
    static Tensor backward(autograd::Context& context, Tensor gradient) {
      return gradient * context.saved_tensors()[0] * 2;
    }
  };
  return autograd::apply<Square>(x);
}

}  // namespace

TEST("a backward that fails to compile is run by the engine, with a warning, and its graph is whole") {
  register_failing_executor();
  compiled_autograd::reset();
  const Tensor x = zeros({2}).requires_grad_();
  const auto loss = [&] { return sum(sin(x) * 3); };
  const std::string reported = test::stderr_text([&] {
    const auto scope = compiled_autograd::enable({.executors = {"fails_to_compile", "eager"}});
    const Tensor y = loss();
    y.backward({}, {.retain_graph = true});
    expect_near(values(x.grad()), {3, 3});
    y.backward();
    expect_near(values(x.grad()), {6, 6});
  });
  const std::string warning =
      "[fulgurite] compiled autograd: a backward of 4 nodes, SumBackward0 first, could not be compiled: the checker "
      "gave up; the eager engine runs it, now and from now on\n";
  expect_equal(reported, warning + warning);  // without a gradient in the leaf, and with one
  expect_equal(compiled_autograd::captures(), int64_t{0});
  const auto scope = compiled_autograd::enable({.fullgraph = true, .executors = {"fails_to_compile", "eager"}});
  const Tensor y = loss();
  expect_error([&] { y.backward(); },
               "a backward of 4 nodes, SumBackward0 first, could not be compiled: the checker gave up");
  const auto other = compiled_autograd::enable({.fullgraph = true, .executors = {"eager"}});
  y.backward();
  expect_near(values(x.grad()), {9, 9});
}

TEST("an option that changes what is compiled compiles again") {
  compiled_autograd::reset();
  const Tensor x = ones({2}).requires_grad_();
  const auto run = [&](compiled_autograd::Options options) {
    const auto scope = compiled_autograd::enable(std::move(options));
    sum(x * x).backward();
    x.set_grad({});
    return compiled_autograd::captures();
  };
  expect_equal(run({.executors = {"eager"}}), int64_t{1});
  expect_equal(run({.executors = {"eager"}}), int64_t{1});
  expect_equal(run({.executors = {"onednn", "eager"}}), int64_t{2});
  expect_equal(run({.dynamic = false, .executors = {"eager"}}), int64_t{3});
  expect_equal(run({.fullgraph = true, .executors = {"eager"}}), int64_t{3});
}

TEST("custom functions that are recomputed need one capture") {
  compiled_autograd::reset();
  const auto scope = compiled_autograd::enable();
  for (int i = 0; i < 5; ++i) {
    const Tensor x = full({2}, static_cast<double>(i)).requires_grad_();
    sum(custom_square(x)).backward();
    expect_near(values(x.grad()), std::vector<float>(2, 2.0f * static_cast<float>(i)));
  }
  expect_equal(compiled_autograd::captures(), int64_t{1});
}

TEST("threads capture and run at once, each structure once") {
  compiled_autograd::reset();
  constexpr int rounds = 60, thread_count = 4, structures = 5;
  std::atomic<int> wrong{0};
  const auto work = [&](int start) {
    const auto scope = compiled_autograd::enable();
    for (int i = 0; i < rounds; ++i) {
      const int length = 1 + (start + i) % structures;
      const Tensor x = full({3 + i % 7, 2}, 0.5).requires_grad_();
      int calls = 0;
      x.register_hook([&](Tensor) { ++calls; });
      Tensor y = x;
      for (int k = 0; k < length; ++k) y = y * 2;
      sum(y).backward();
      for (const float value : values(x.grad())) wrong += value != static_cast<float>(1 << length);
      wrong += calls != 1;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < thread_count; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  expect_equal(wrong.load(), 0);
  expect_equal(compiled_autograd::captures(), int64_t{structures});
}

TEST("each gradient is copied and let go of as soon as it is there") {
  compiled_autograd::reset();
  constexpr int layers = 6;
  std::vector<Tensor> weights, copies;
  for (int i = 0; i < layers; ++i) {
    weights.push_back((randn({32, 32}) * 0.1).requires_grad_());
    copies.push_back(zeros({32, 32}));
    weights.back().register_post_accumulate_grad_hook([&, i](Tensor weight) {
      copies[static_cast<size_t>(i)].copy_(weight.grad());
      weight.set_grad({});
    });
  }
  Tensor y = randn({8, 32});
  for (const Tensor& weight : weights) y = tanh(matmul(y, weight));
  const auto scope = compiled_autograd::enable({.executors = {"eager"}});
  sum(y).backward();
  for (int i = 0; i < layers; ++i)
    expect(!weights[i].grad().defined() && abs(copies[i]).sum().item<float>() > 0, "the gradient has moved");

  const Trace trace = compiled_autograd::last_traces().front();
  std::vector<BoundSymbol> early, late;
  int found = 0;
  for (const BoundSymbol& line : trace.bound_symbols) {
    const bool adds = line.name() == "accumulate_grad_";
    const bool copies_it = line.name() == "call_hook";
    if (adds) {
      ++found;
      expect_equal(early.back().outputs.read()[0].tensor().name, line.args.read()[2].tensor().name);
    }
    if (copies_it) expect_equal(early.back().name(), "accumulate_grad_");
    early.push_back(line);
  }
  expect_equal(found, layers);
  // The same with all that is done to the leaves at the end.
  std::vector<BoundSymbol> at_end;
  for (const BoundSymbol& line : early) {
    const bool is_effect = line.name() == "accumulate_grad_" || line.name() == "call_hook";
    const bool is_end = line.name() == "_exec_final_callbacks_stub";
    if (is_end) late.insert(late.end(), at_end.begin(), at_end.end());
    (is_effect ? at_end : late).push_back(line);
  }
  Trace postponed = trace;
  postponed.bound_symbols = std::move(late);
  const int64_t least = (layers - 1) * 32 * 32 * 4;  // of the gradients, all but the last wait
  expect(examine::memory(trace).peak_bytes + least <= examine::memory(postponed).peak_bytes + 32 * 32 * 4,
         std::to_string(examine::memory(trace).peak_bytes) + " bytes against " +
             std::to_string(examine::memory(postponed).peak_bytes));
}

TEST("a hook may update its parameter, and what read it before is not fused with what comes after") {
  const auto run = [] {
    const Tensor scale = full({8, 4}, 0.5).requires_grad_(), x = full({8, 4}, 0.25).requires_grad_();
    scale.register_post_accumulate_grad_hook([](Tensor t) {
      const NoGrad no_grad;
      t.fill_(100);
    });
    sum(sin(scale * exp(x)) * 2).backward();
    return values(x.grad());
  };
  const std::vector<float> with_engine = run();
  {
    const auto scope = compiled_autograd::enable({.executors = {"eager"}});
    expect_equal(run(), with_engine);
  }
  const auto scope = compiled_autograd::enable({.executors = {"fuser", "eager"}});
  expect_near(run(), with_engine, 1e-5);
  const Trace trace = compiled_autograd::last_traces().back();
  expect(std::ranges::any_of(trace.bound_symbols, [](const BoundSymbol& line) { return line.is_fusion(); }),
         "something is fused");
}

TEST("a hook may update its parameter: what still reads the parameter ran before") {
  const auto run = [] {
    manual_seed(5);
    std::vector<Tensor> weights;
    for (int i = 0; i < 3; ++i) {
      weights.push_back((randn({4, 4}) * 0.5).requires_grad_());
      weights.back().register_post_accumulate_grad_hook([](Tensor weight) {
        const NoGrad no_grad;
        weight.sub_(weight.grad() * 0.1);
        weight.set_grad({});
      });
    }
    for (int step = 0; step < 3; ++step) {
      Tensor y = ones({2, 4});
      for (const Tensor& weight : weights) y = tanh(matmul(y, weight) * sum(weight * weight));
      for (const Tensor& weight : weights) y = y + sin(matmul(tanh(y), weight));
      mean(y).backward();
    }
    std::vector<float> all;
    for (const Tensor& weight : weights)
      for (const float value : values(weight)) all.push_back(value);
    return all;
  };
  const std::vector<float> eager = run();
  compiled_autograd::reset();
  const auto scope = compiled_autograd::enable({.executors = {"eager"}});
  expect_equal(run(), eager);
}
