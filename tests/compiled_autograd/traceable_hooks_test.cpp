// Hooks that a captured backward records instead of calling.
#include <functional>

#include <fulgurite/fulgurite.h>

#include "support/stderr_text.h"
#include "support/test.h"

using namespace fulgurite;

namespace {

std::vector<float> values(const Tensor& t) { return t.contiguous().to_vector<float>(); }
Tensor leaf(std::vector<float> values) { return tensor(values).requires_grad_(); }

/// The text of the last captured trace, from its head on.
std::string captured_text() {
  const Trace trace = compiled_autograd::last_traces().front();
  const std::string text = print(trace, {.time = false, .source = false});
  return text.substr(text.find("void compiled_backward"));
}

/// The engine and a captured backward must agree.
void expect_same(const std::function<std::vector<float>()>& run, int64_t captures,
                 compiled_autograd::Options options = {.fullgraph = true}) {
  const std::vector<float> expected = run();
  compiled_autograd::reset();
  options.executors = {"eager"};
  const auto scope = compiled_autograd::enable(options);
  expect_equal(run(), expected);
  expect_equal(run(), expected);
  expect_equal(compiled_autograd::captures(), captures);
}

}  // namespace

TEST("a traceable hook's operators are ops of the trace, under the node") {
  expect_same(
      [] {
        const Tensor x = leaf({1, -2});
        x.register_hook(autograd::traceable([](Tensor gradient) { return clamp(gradient, -1, 1) * 3; }));
        sum(x * x).backward();
        return values(x.grad());
      },
      1);
  expect_text(captured_text(), R"(
void compiled_backward(Tensor gradient_0, Tensor saved_0, Tensor leaf_0, Int size_0) {
  // gradient_0: "cpu f32[]"
  // saved_0: "cpu f32[size_0=2]"
  // leaf_0: "cpu f32[size_0=2]"
  // size_0: "int 2"

  // SumBackward0 (NodeCall 1)
  auto t0 = reshape(gradient_0, {1});  // t0: "cpu f32[1]"
  auto t1 = expand(t0, {size_0});  // t1: "cpu f32[size_0=2]"

  // MulBackward0 (NodeCall 2)
  auto t2 = mul(t1, saved_0);  // t2: "cpu f32[size_0=2]"
  auto t3 = mul(t1, saved_0);  // t3: "cpu f32[size_0=2]"
  auto t4 = add(t2, t3);  // t4: "cpu f32[size_0=2]"

  // AccumulateGrad (NodeCall 3)
  auto t5 = clamp(t4, -1, 1);  // t5: "cpu f32[size_0=2]"
  auto t6 = mul(t5, 3);  // t6: "cpu f32[size_0=2]"
  compiled_autograd::accumulate_grad_(0, leaf_0, t6);  // engine
  compiled_autograd::_exec_final_callbacks_stub(1);  // engine
  return;
}
)");
}

TEST("hooks without state share captures by their type, those with state have their own") {
  compiled_autograd::reset();
  const auto scope = compiled_autograd::enable({.fullgraph = true});
  const auto run = [](const Hook& hook) {
    const Tensor x = leaf({1, 2});
    x.register_hook(hook);
    sum(x * 3).backward();
    return values(x.grad());
  };
  const auto scaled = [](double factor) {
    return autograd::traceable([factor](Tensor gradient) { return gradient * factor; });
  };
  for (int i = 0; i < 3; ++i)
    expect_near(run(autograd::traceable([](Tensor gradient) { return gradient + 1; })), {4, 4});
  expect_equal(compiled_autograd::captures(), int64_t{1});
  expect_near(run(autograd::traceable([](Tensor gradient) { return gradient + 2; })), {5, 5});
  expect_equal(compiled_autograd::captures(), int64_t{2});
  const Hook twice = scaled(2);
  expect_near(run(twice), {6, 6});
  expect_near(run(twice), {6, 6});
  expect_equal(compiled_autograd::captures(), int64_t{3});
  expect_near(run(scaled(5)), {15, 15});
  expect_equal(compiled_autograd::captures(), int64_t{4});
  expect_near(run([](Tensor gradient) { return gradient + 1; }), {4, 4});  // called
  expect_equal(compiled_autograd::captures(), int64_t{5});
}

TEST("a traceable hook may write its argument, give nothing, and use tensors that it captured") {
  const Tensor scale = tensor(std::vector<float>{10, 20});
  const Hook scales = autograd::traceable([scale](Tensor gradient) {
    Tensor scaled = gradient * scale;
    return scaled;
  });
  expect_same(
      [&] {
        const Tensor x = leaf({1, 2});
        const Tensor y = x * 3;
        y.register_hook(autograd::traceable([](Tensor gradient) { gradient.mul_(2); }));
        x.register_hook(scales);
        x.register_hook([](Tensor gradient) { return gradient + 1; });
        sum(y * y).backward();
        std::vector<float> first = values(x.grad());
        x.set_grad({});
        return first;
      },
      1);
  compiled_autograd::reset();
  const auto scope = compiled_autograd::enable({.fullgraph = true});
  const Tensor x = leaf({1, 2});
  x.register_hook(scales);
  for (const float factor : {1.0f, 3.0f}) {
    scale.copy_(tensor(std::vector<float>{factor, factor}));  // its elements are read when the backward runs
    x.set_grad({});
    sum(x * 2).backward();
    expect_near(values(x.grad()), {2 * factor, 2 * factor});
  }
  expect_equal(compiled_autograd::captures(), int64_t{1});
}

TEST("one capture of a traceable hook serves many sizes") {
  compiled_autograd::reset();
  const auto scope = compiled_autograd::enable({.fullgraph = true});
  for (const int64_t n : {3, 5, 8}) {
    const Tensor x = ones({n, 2}).requires_grad_();
    x.register_hook(autograd::traceable([](Tensor gradient) { return gradient / sum(gradient); }));
    sum(x * 4).backward();
    expect_near(values(x.grad()), std::vector<float>(static_cast<size_t>(2 * n), 1.0f / static_cast<float>(2 * n)),
                1e-6);
  }
  expect_equal(compiled_autograd::captures(), int64_t{1});
}

TEST("the ops of a traceable hook are differentiated again") {
  expect_same(
      [] {
        const Tensor x = leaf({1, 2});
        const Tensor y = x * x;
        y.register_hook(autograd::traceable([x](Tensor gradient) { return gradient * gradient * x; }));
        const Tensor first = autograd::grad(sum(y * x), x, {}, {.create_graph = true})[0];
        std::vector<float> all = values(first);
        for (const float value : values(autograd::grad(sum(first), x)[0])) all.push_back(value);
        return all;
      },
      4);  // the hook has state, and is another one each time
}

TEST("a traceable hook that cannot be recorded is called, with a warning, or is an error") {
  const Tensor kept = zeros({2});
  const std::vector<std::pair<Hook, std::string>> hooks = {
      {autograd::traceable([](Tensor gradient) { return sum(gradient).item<float>() > 0 ? gradient * 2 : gradient; }),
       "item() needs the value of cpu f32[] inside a traced function: a graph break, which cannot be made in a hook "
       "that is recorded; return the tensor and ask outside, or use where() instead of a branch"},
      {autograd::traceable([kept](Tensor gradient) { kept.copy_(gradient); }),
       "it writes into cpu f32[2], which is not its argument"},
      {autograd::traceable([](Tensor gradient) { return gradient + randn({2}); }), "it draws random numbers, randn()"},
      {autograd::traceable([](Tensor gradient) { return sum(gradient); }),
       "it turned cpu f32[2] into cpu f32[]; it must keep sizes and dtype"},
  };
  for (size_t i = 0; i < hooks.size(); ++i) {
    const auto& [hook, why] = hooks[i];
    const bool keeps_type = i + 1 < hooks.size();
    const auto run = [&hook = hook] {
      const Tensor x = leaf({1, 2});
      x.register_hook(hook);
      sum(x * 3).backward();
      return values(x.grad());
    };
    compiled_autograd::reset();
    const std::string reported = test::stderr_text([&] {
      const auto scope = compiled_autograd::enable({.dynamic = false});
      if (keeps_type) run();
      else expect_error(run, "a gradient hook turned cpu f32[2] into cpu f32[]; it must keep sizes and dtype");
    });
    expect(reported.find(
               "compiled autograd: a traceable hook on the gradient of AccumulateGrad (NodeCall 3) cannot be recorded "
               "and is called "
               "instead: " +
               why) != std::string::npos,
           reported);
    if (i == 0)
      expect_text(captured_text().substr(captured_text().find("  auto t3")), R"(
  auto t3 = compiled_autograd::call_hook(0, t2, "tensor_pre_hook");  // t3: "cpu f32[2]", engine
  compiled_autograd::accumulate_grad_(1, leaf_0, t3);  // engine
  compiled_autograd::_exec_final_callbacks_stub(2);  // engine
  return;
}
)");
    const auto scope = compiled_autograd::enable({.fullgraph = true});
    expect_error(
        run, "a traceable hook on the gradient of AccumulateGrad (NodeCall 3) cannot be recorded (fullgraph): " + why);
  }
  expect_near(values(kept), {3, 3});
}
