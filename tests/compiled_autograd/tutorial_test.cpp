// The sections of docs/compiled_autograd.md, and the output of each of them.
#include <functional>

#include <fulgurite/fulgurite.h>

#include "compiled_autograd/log_text.h"
#include "support/test.h"

using namespace fulgurite;
using test::lines_with;
using test::reported;

namespace {

struct Model {
  nn::Linear linear{10, 10};
  Tensor operator()(Tensor x) const { return linear(x); }
};

}  // namespace

namespace {

/// The text of a captured trace, first or last, from its head on.
std::string text_from_head(const Trace& trace) {
  const std::string text = print(trace, {.time = false, .source = false});
  return text.substr(text.find("void compiled_backward"));
}

}  // namespace

TEST("basic usage, and the captured graph in the log") {
  compiled_autograd::reset();
  manual_seed(1);
  const Model model;
  const Tensor x = randn({10});
  const std::string text = reported(LogChannel::compiled_autograd_verbose, [&] {
    const auto train = jit(
        [](Model m, Tensor input) {
          const Tensor loss = sum(m(input));
          loss.backward();
        },
        {.compiled_autograd = true});
    train(model, x);
  });
  expect(model.linear.weight.grad().defined() && model.linear.bias.grad().defined(), "the parameters have gradients");
  expect_text(text.substr(0, text.find("#include")) + text.substr(text.find("void compiled_backward")), R"(
Cache miss due to new autograd node: GraphRoot (NodeCall 0) with key size 56, previous key sizes=[]
TRACED GRAPH
===== Compiled autograd graph =====
void compiled_backward(Tensor gradient_0, Tensor saved_0, Tensor leaf_0, Tensor leaf_1) {
  // gradient_0: "cpu f32[]"
  // saved_0: "cpu f32[10]"
  // leaf_0: "cpu f32[10, 10]"
  // leaf_1: "cpu f32[10]"

  // CompiledBackward (NodeCall 1)
  auto aot0_t3 = reshape(gradient_0, {1});  // aot0_t3: "cpu f32[1]"
  auto aot0_t4 = expand(aot0_t3, {10});  // aot0_t4: "cpu f32[10]"
  auto aot0_t5 = reshape(aot0_t4, {-1, 10});  // aot0_t5: "cpu f32[1, 10]"
  auto aot0_t6 = permute(aot0_t5, {1, 0});  // aot0_t6: "cpu f32[10, 1]"
  auto aot0_t7 = reshape(saved_0, {-1, 10});  // aot0_t7: "cpu f32[1, 10]"
  auto aot0_t8 = matmul(aot0_t6, aot0_t7);  // aot0_t8: "cpu f32[10, 10] [10, 1]"
  auto aot0_t9 = sum(aot0_t5, {0});  // aot0_t9: "cpu f32[10] [1]"

  // AccumulateGrad (NodeCall 2)
  compiled_autograd::accumulate_grad_(0, leaf_0, aot0_t8);  // engine

  // AccumulateGrad (NodeCall 3)
  compiled_autograd::accumulate_grad_(1, leaf_1, aot0_t9);  // engine
  compiled_autograd::_exec_final_callbacks_stub(2);  // engine
  return;
}
)");
}

TEST("forward and backward with options of their own") {
  compiled_autograd::reset();
  const Model model;
  const auto f = jit(model, {.executors = {"eager"}});
  const Tensor x = randn({10});
  {
    const Tensor loss = sum(f(x));
    const auto scope = compiled_autograd::enable({.fullgraph = true, .executors = {"onednn", "eager"}});
    loss.backward();
    const std::vector<Trace> traces = compiled_autograd::last_traces();
    expect_text(text_from_head(traces.front()) + text_from_head(traces.back()), R"(
void compiled_backward(Tensor gradient_0, Tensor saved_0, Tensor leaf_0, Tensor leaf_1) {
  // gradient_0: "cpu f32[]"
  // saved_0: "cpu f32[10]"
  // leaf_0: "cpu f32[10, 10]"
  // leaf_1: "cpu f32[10]"

  // SumBackward0 (NodeCall 1)
  auto t0 = reshape(gradient_0, {1});  // t0: "cpu f32[1]"
  auto t1 = expand(t0, {10});  // t1: "cpu f32[10]"

  // CompiledBackward (NodeCall 2)
  auto aot0_t2 = reshape(t1, {-1, 10});  // aot0_t2: "cpu f32[1, 10]"
  auto aot0_t3 = permute(aot0_t2, {1, 0});  // aot0_t3: "cpu f32[10, 1]"
  auto aot0_t4 = reshape(saved_0, {-1, 10});  // aot0_t4: "cpu f32[1, 10]"
  auto aot0_t5 = matmul(aot0_t3, aot0_t4);  // aot0_t5: "cpu f32[10, 10]"

  // AccumulateGrad (NodeCall 3)
  compiled_autograd::accumulate_grad_(0, leaf_0, aot0_t5);  // engine

  // CompiledBackward (NodeCall 2)
  auto aot0_t6 = sum(aot0_t2, {0});  // aot0_t6: "cpu f32[10]"

  // AccumulateGrad (NodeCall 4)
  compiled_autograd::accumulate_grad_(1, leaf_1, aot0_t6);  // engine
  compiled_autograd::_exec_final_callbacks_stub(2);  // engine
  return;
}
void compiled_backward(Tensor gradient_0, Tensor saved_0, Tensor leaf_0, Tensor leaf_1) {
  // gradient_0: "cpu f32[]"
  // saved_0: "cpu f32[10]"
  // leaf_0: "cpu f32[10, 10]"
  // leaf_1: "cpu f32[10]"

  // SumBackward0 (NodeCall 1)
  auto t0 = reshape(gradient_0, {1});  // t0: "cpu f32[1]"
  del(gradient_0);
  auto t1 = expand(t0, {10});  // t1: "cpu f32[10]"
  del(t0);

  // CompiledBackward (NodeCall 2)
  auto aot0_t2 = reshape(t1, {-1, 10});  // aot0_t2: "cpu f32[1, 10]"
  del(t1);
  auto aot0_t3 = permute(aot0_t2, {1, 0});  // aot0_t3: "cpu f32[10, 1]"
  auto aot0_t4 = reshape(saved_0, {-1, 10});  // aot0_t4: "cpu f32[1, 10]"
  del(saved_0);
  auto aot0_t5 = matmul(aot0_t3, aot0_t4);  // aot0_t5: "cpu f32[10, 10]", onednn
  del(aot0_t3, aot0_t4);

  // AccumulateGrad (NodeCall 3)
  compiled_autograd::accumulate_grad_(0, leaf_0, aot0_t5);  // engine
  del(leaf_0, aot0_t5);

  // CompiledBackward (NodeCall 2)
  auto aot0_t6 = sum(aot0_t2, {0});  // aot0_t6: "cpu f32[10]"
  del(aot0_t2);

  // AccumulateGrad (NodeCall 4)
  compiled_autograd::accumulate_grad_(1, leaf_1, aot0_t6);  // engine
  del(leaf_1, aot0_t6);
  compiled_autograd::_exec_final_callbacks_stub(2);  // engine
  return;
}
)");
  }
  // The forward ran on the executor that it names, the backward on those of the scope.
  const Trace forward = last_traces(f).back();
  const std::string forward_text = print(forward, {.time = false, .source = false});
  expect(forward_text.find("onednn") == std::string::npos, forward_text);
  for (const Tensor& parameter : nn::parameters(model)) parameter.set_grad({});
  const Tensor loss = sum(f(x));
  const std::string text = reported(LogChannel::compiled_autograd_verbose, [&] {
    jit([&] { loss.backward(); }, {.fullgraph = true, .compiled_autograd = true})();
  });
  expect_text(lines_with(text, "Cache miss") + lines_with(text, "what differs"), R"(
Cache miss due to new autograd node: GraphRoot (NodeCall 0) with key size 56, previous key sizes=[72]
  what differs: the executors or the options are others
)");
  expect_equal(compiled_autograd::captures(), int64_t{2});
}

TEST("graph breaks in the forward leave one backward") {
  const auto f = jit([](Tensor x) {
    const Tensor once = x + 10;
    graph_break();
    const Tensor twice = once + 10;
    graph_break();
    return sum(twice);
  });
  const Tensor x = randn({10, 10}).requires_grad_();
  counters().clear();
  const Tensor loss = f(x);
  loss.backward({}, {.retain_graph = true});
  expect_equal(counters()["unique_graphs"], int64_t{3});
  counters().clear();
  const std::string text = reported(LogChannel::compiled_autograd, [&] {
    const auto scope = compiled_autograd::enable();
    loss.backward();
  });
  expect_equal(counters()["unique_graphs"], int64_t{1});
  expect_near(x.grad().to_vector<float>(), std::vector<float>(100, 2));
  expect_text(text.substr(0, text.find("#include")) + text.substr(text.find("void compiled_backward")), R"(
TRACED GRAPH
===== Compiled autograd graph =====
void compiled_backward(Tensor gradient_0, Tensor leaf_0) {
  // gradient_0: "cpu f32[]"
  // leaf_0: "cpu f32[10, 10]"

  // CompiledBackward (NodeCall 1)
  auto aot2_t2 = reshape(gradient_0, {1, 1});  // aot2_t2: "cpu f32[1, 1]"
  auto aot2_t3 = expand(aot2_t2, {10, 10});  // aot2_t3: "cpu f32[10, 10]"

  // AccumulateGrad (NodeCall 4)
  compiled_autograd::accumulate_grad_(0, leaf_0, aot2_t3);  // engine
  compiled_autograd::_exec_final_callbacks_stub(1);  // engine
  return;
}
)");
}

TEST("a hook is called from inside the graph") {
  compiled_autograd::reset();
  const Tensor x = randn({10, 10}).requires_grad_();
  x.register_hook([](const Tensor& gradient) { return gradient + 10; });
  const auto f = jit([](Tensor t) { return sum(t); });
  const Tensor loss = f(x);
  const std::string text = reported(LogChannel::compiled_autograd_verbose, [&] {
    const auto scope = compiled_autograd::enable();
    loss.backward();
  });
  expect_text(lines_with(text, "call_hook(0"), R"(
  auto t2 = compiled_autograd::call_hook(0, aot0_t3, "tensor_pre_hook");  // t2: "cpu f32[10, 10] [10, 1]", engine
)");
  expect_near(x.grad().to_vector<float>(), std::vector<float>(100, 11));
}

TEST("a changed graph is captured again, and the log says the difference") {
  compiled_autograd::reset();
  const Tensor x = randn({10}).requires_grad_();
  const std::vector<std::function<Tensor(Tensor, Tensor)>> operators = {
      [](Tensor a, Tensor b) { return a + b; }, [](Tensor a, Tensor b) { return a - b; },
      [](Tensor a, Tensor b) { return a * b; }, [](Tensor a, Tensor b) { return a / b; }};
  const std::string text = reported(LogChannel::compiled_autograd_verbose, [&] {
    for (const auto& op : operators) {
      const Tensor loss = sum(op(x, x));
      jit([&] { loss.backward(); }, {.compiled_autograd = true})();
      x.set_grad({});
    }
  });
  expect_text(lines_with(text, "Cache miss") + lines_with(text, "what differs"), R"(
Cache miss due to new autograd node: GraphRoot (NodeCall 0) with key size 56, previous key sizes=[]
Cache miss due to new autograd node: SubBackward0 (NodeCall 2) with key size 120, previous key sizes=[]
Cache miss due to new autograd node: MulBackward0 (NodeCall 2) with key size 128, previous key sizes=[]
Cache miss due to new autograd node: DivBackward0 (NodeCall 2) with key size 136, previous key sizes=[]
  what differs: the node was AddBackward0
  what differs: the node was SubBackward0
  what differs: the node was MulBackward0
)");
  expect_equal(compiled_autograd::captures(), int64_t{4});
}

TEST("with sizes that are constants at first, the log says which ones change") {
  compiled_autograd::reset();
  const std::string text = reported(LogChannel::compiled_autograd_verbose, [] {
    const auto scope = compiled_autograd::enable({.dynamic = false});
    for (const int64_t n : {10, 100, 10}) {
      const Tensor x = randn({n, n}).requires_grad_();
      sum(x).backward();
    }
  });
  expect_text(lines_with(text, "Cache miss"), R"(
Cache miss due to new autograd node: GraphRoot (NodeCall 0) with key size 56, previous key sizes=[]
Cache miss due to changed shapes: marking size idx 0 of SumBackward0 (NodeCall 1) as dynamic, from 10 to 100
Cache miss due to changed shapes: marking size idx 1 of SumBackward0 (NodeCall 1) as dynamic, from 10 to 100
Cache miss due to changed shapes: marking size idx 2 of AccumulateGrad (NodeCall 2) as dynamic, from 10 to 100
Cache miss due to changed shapes: marking size idx 3 of AccumulateGrad (NodeCall 2) as dynamic, from 10 to 100
)");
  expect_equal(compiled_autograd::captures(), int64_t{2});
}

TEST("the log says which field of a node differs, from what to what") {
  compiled_autograd::reset();
  const std::string text = reported(LogChannel::compiled_autograd_verbose, [] {
    const auto scope = compiled_autograd::enable();
    const auto run = [](bool hooks, Dtype dtype, double power, bool keeps_gradient) {
      const Tensor x = full({3}, 2.0, {.dtype = dtype, .requires_grad = true});
      if (hooks) x.register_hook([](const Tensor& gradient) { return gradient; });
      if (keeps_gradient) x.set_grad(zeros_like(x));
      sum(pow(x, power)).backward();
    };
    run(false, Dtype::f32, 3, false);
    run(true, Dtype::f32, 3, false);
    run(false, Dtype::f32, 3, true);
    run(false, Dtype::f32, 2, false);
    run(false, Dtype::f64, 3, false);
  });
  expect_text(lines_with(text, "Cache miss") + lines_with(text, "what differs"), R"(
Cache miss due to new autograd node: GraphRoot (NodeCall 0) with key size 56, previous key sizes=[]
Cache miss due to new autograd node: AccumulateGrad (NodeCall 3) with key size 32, previous key sizes=[32]
Cache miss due to new autograd node: AccumulateGrad (NodeCall 3) with key size 32, previous key sizes=[32, 32]
Cache miss due to new autograd node: PowBackward0 (NodeCall 2) with key size 112, previous key sizes=[112, 112, 112]
Cache miss due to new autograd node: GraphRoot (NodeCall 0) with key size 56, previous key sizes=[56, 56, 56, 56]
  what differs: the leaf, from without a gradient, 0 hooks and 0 hooks after it to without a gradient, 1 hook and 0 hooks after it
  what differs: the leaf, from without a gradient, 1 hook and 0 hooks after it to with a gradient, 0 hooks and 0 hooks after it
  what differs: a constant among the operator's arguments, from 3.0 to 2.0
  what differs: the type of a tensor, from f32 of 0 dimensions to f64 of 0 dimensions
)");
}
