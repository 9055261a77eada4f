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
  expect_text(text.substr(0, text.find("#include")) + text.substr(text.find("void compiled_backward")), R"()");
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
  expect_text(lines_with(text, "call_hook(0"), R"()");
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
  expect_text(lines_with(text, "Cache miss"), R"()");
  expect_equal(compiled_autograd::captures(), int64_t{4});
}
