// The sections of docs/compiled_autograd.md, and what each of them prints.
#include <functional>

#include <fulgurite/fulgurite.h>

#include "support/context.h"
#include "support/log.h"
#include "support/stderr_text.h"
#include "support/test.h"

using namespace fulgurite;

namespace {

struct Model {
  nn::Linear linear{10, 10};
  Tensor operator()(Tensor x) const { return linear(x); }
};

/// What `run` says on a channel, without the channel's name and the text of source files.
std::string told(LogChannel channel, const std::function<void()>& run) {
  const uint32_t before = context().log_channels.exchange(uint32_t{1} << static_cast<int>(channel));
  std::string out;
  std::string text = test::stderr_text(run);
  context().log_channels = before;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    std::string line = text.substr(at, end - at);
    at = end + 1;
    if (const size_t name = line.find("] "); name != std::string::npos) line = line.substr(name + 2);
    if (const size_t source = line.find(", tutorial_test.cpp"); source != std::string::npos) line.resize(source);
    while (line.ends_with(' ')) line.pop_back();
    out += line + "\n";
  }
  return out;
}

/// The lines of a text that hold a part.
std::string lines_with(const std::string& text, std::string_view part) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    if (line.find(part) != std::string::npos) out += line + "\n";
    at = end + 1;
  }
  return out;
}

}  // namespace

TEST("basic usage, and the captured graph in the log") {
  compiled_autograd::reset();
  manual_seed(1);
  const Model model;
  const Tensor x = randn({10});
  const std::string text = told(LogChannel::compiled_autograd_verbose, [&] {
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
Cache miss due to new autograd node: GraphRoot (NodeCall 0) with key size 48, previous key sizes=[]
TRACED GRAPH
===== Compiled autograd graph =====
void compiled_backward(Tensor gradient_0, Tensor saved_0, Tensor leaf_0, Tensor leaf_1) {
  // gradient_0: "cpu f32[]"
  // saved_0: "cpu f32[10]"
  // leaf_0: "cpu f32[10, 10]"
  // leaf_1: "cpu f32[10]"

  // CompiledBackward (NodeCall 1)
  auto t0 = reshape(gradient_0, {1});  // t0: "cpu f32[1]"
  auto t1 = expand(t0, {10});  // t1: "cpu f32[10]"
  auto t2 = reshape(t1, {-1, 10});  // t2: "cpu f32[1, 10]"
  auto t3 = permute(t2, {1, 0});  // t3: "cpu f32[10, 1]"
  auto t4 = reshape(saved_0, {-1, 10});  // t4: "cpu f32[1, 10]"
  auto t5 = matmul(t3, t4);  // t5: "cpu f32[10, 10] [10, 1]"
  auto t6 = sum(t2, {0});  // t6: "cpu f32[10] [1]"

  // AccumulateGrad (NodeCall 2)
  compiled_autograd::accumulate_grad_(0, leaf_0, t5);  // engine

  // AccumulateGrad (NodeCall 3)
  compiled_autograd::accumulate_grad_(1, leaf_1, t6);  // engine
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
  }
  const Tensor loss = sum(f(x));
  jit([&] { loss.backward(); }, {.fullgraph = true, .compiled_autograd = true})();
  expect_equal(compiled_autograd::captures(), int64_t{2});  // executors are part of what is captured
}

TEST("a hook is called from inside the graph") {
  compiled_autograd::reset();
  const Tensor x = randn({10, 10}).requires_grad_();
  x.register_hook([](const Tensor& gradient) { return gradient + 10; });
  const auto f = jit([](Tensor t) { return sum(t); });
  const Tensor loss = f(x);
  const std::string text = told(LogChannel::compiled_autograd_verbose, [&] {
    const auto scope = compiled_autograd::enable();
    loss.backward();
  });
  expect_text(lines_with(text, "call_hook(0"), R"(
  auto t2 = compiled_autograd::call_hook(0, t1, "tensor_pre_hook");  // t2: "cpu f32[10, 10] [10, 1]", engine
)");
  expect_near(x.grad().to_vector<float>(), std::vector<float>(100, 11));
}

TEST("what changes in the graph's structure is captured again, and the log says where") {
  compiled_autograd::reset();
  const Tensor x = randn({10}).requires_grad_();
  const std::vector<std::function<Tensor(Tensor, Tensor)>> operators = {
      [](Tensor a, Tensor b) { return a + b; }, [](Tensor a, Tensor b) { return a - b; }, [](Tensor a, Tensor b) { return a * b; },
      [](Tensor a, Tensor b) { return a / b; }};
  const std::string text = told(LogChannel::compiled_autograd_verbose, [&] {
    for (const auto& op : operators) {
      const Tensor loss = sum(op(x, x));
      jit([&] { loss.backward(); }, {.compiled_autograd = true})();
      x.set_grad({});
    }
  });
  expect_text(lines_with(text, "Cache miss"), R"(
Cache miss due to new autograd node: GraphRoot (NodeCall 0) with key size 48, previous key sizes=[]
Cache miss due to new autograd node: SubBackward0 (NodeCall 2) with key size 56, previous key sizes=[]
Cache miss due to new autograd node: MulBackward0 (NodeCall 2) with key size 88, previous key sizes=[]
Cache miss due to new autograd node: DivBackward0 (NodeCall 2) with key size 88, previous key sizes=[]
)");
  expect_equal(compiled_autograd::captures(), int64_t{4});
}
