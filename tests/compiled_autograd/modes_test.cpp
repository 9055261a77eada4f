// The checks of tests/autograd/reference_checks_test.cpp, numbered alike, each with the engine and captured: equal
// values, orders of hooks and errors, and the number of captures.
#include <functional>
#include <stdexcept>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

namespace {

Tensor leaf(std::vector<float> values) { return tensor(values).requires_grad_(); }
std::string text_of(const Tensor& t) {
  std::string out;
  if (!t.defined()) return "none ";
  for (const float value : t.contiguous().to_vector<float>()) out += std::to_string(value) + " ";
  return out;
}
std::string error_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

/// The engine and a captured backward must agree, with `captures` captures.
void expect_same(const std::function<std::string()>& check, const std::string& expected, int64_t captures) {
  expect_equal(check(), expected);
  compiled_autograd::reset();
  const auto scope = compiled_autograd::enable();
  expect_equal(check(), expected);
  expect_equal(compiled_autograd::captures(), captures);
}

struct Throws {
  static Tensor forward(autograd::Context&, Tensor x) { return x * 1; }
  static Tensor backward(autograd::Context&, Tensor) {
    throw std::runtime_error("the backward of what nobody asked for");
  }
};

struct Refuses {
  static Tensor forward(autograd::Context&, Tensor x) { return x * 1; }
  static Tensor backward(autograd::Context&, Tensor) { throw UserError("this backward is refused"); }
};

}  // namespace

TEST("3: the hooks of a leaf see values, in order, with the engine and captured") {
  const auto check = [](bool reads_gradient) {
    const Tensor x = leaf({1, 1, 1});
    const std::shared_ptr<Node> accumulator = (x * 1).grad_fn()->next_edges()[0].node;
    std::string order;
    x.register_hook([&](Tensor gradient) {
      order += "1";
      return gradient - 2;
    });
    accumulator->register_prehook([&](const std::vector<Tensor>& gradients) {
      order += "2";
      return std::vector<Tensor>{gradients[0] / 5};
    });
    x.register_post_accumulate_grad_hook([&](Tensor t) {
      order += "3";
      const NoGrad no_grad;
      t.grad().add_(0.5);
    });
    accumulator->register_hook([&](const std::vector<Tensor>&, const std::vector<Tensor>& of_outputs) {
      order += "4";
      x.set_grad((reads_gradient ? x.grad() : of_outputs[0]) * 10);
    });
    sum(x).backward();
    return order + " " + text_of(x.grad());
  };
  expect_same([&] { return check(false); }, "1234 -2.000000 -2.000000 -2.000000 ", 1);
  expect_same([&] { return check(true); }, "1234 3.000000 3.000000 3.000000 ", 1);
}

TEST("4: a gradient of a part runs that part, with the engine and captured") {
  expect_same(
      [] {
        const Tensor y = leaf({1, 2}), z = leaf({3, 4});
        int hooks = 0, accumulated = 0;
        z.register_hook([&](Tensor) { ++hooks; });
        z.register_post_accumulate_grad_hook([&](Tensor) { ++accumulated; });
        const Tensor loss = sum(autograd::apply<Throws>(y) * z);
        std::string out =
            text_of(autograd::grad(loss, z, {}, {.retain_graph = true})[0]) + text_of(y.grad()) + text_of(z.grad());
        out += std::to_string(hooks) + std::to_string(accumulated) + " ";
        loss.backward({}, {.inputs = {z}});
        return out + text_of(z.grad()) + text_of(y.grad()) + std::to_string(hooks) + std::to_string(accumulated);
      },
      "1.000000 2.000000 none none 10 1.000000 2.000000 none 21", 2);
}

TEST("5: backward twice, and once too often, with the engine and captured") {
  expect_same(
      [] {
        const Tensor x = leaf({3});
        const Tensor y = sum(x * x);
        y.backward({}, {.retain_graph = true});
        y.backward();
        return text_of(x.grad()) + error_of([&] { y.backward(); });
      },
      "12.000000 backward through MulBackward0 a second time: what it had saved was freed by the first backward(); "
      "give {.retain_graph = true} to every backward() or autograd::grad() but the last",
      2);
  expect_same(
      [] {
        const Tensor x = leaf({3});
        const Tensor y = sum(x + 1);
        y.backward();
        y.backward();
        return text_of(x.grad());
      },
      "2.000000 ", 2);
}

TEST("6: a saved tensor that was written is refused before anything is captured") {
  expect_same(
      [] {
        const Tensor x = leaf({1, 2, 3});
        const Tensor y = exp(x);
        y.add_(1);
        return error_of([&] { sum(y).backward(); }) + text_of(x.grad());
      },
      "a tensor needed for backward was changed in place: cpu f32[3], output 0 of ExpBackward0, is at version 1 but "
      "was saved at version 0; write into a clone, or after backward()none ",
      0);
}

TEST("7: three jitted subgraphs are one capture, and the uses of one subgraph have names of their own") {
  const auto plus = jit([](Tensor t) { return t + 10; });
  const auto doubled = jit([](Tensor t) { return t * 2; });
  const auto summed = jit([](Tensor t) { return sum(t); });
  expect_same(
      [&] {
        const Tensor x = leaf({1, 2, 3});
        summed(doubled(plus(x))).backward();
        return text_of(x.grad());
      },
      "2.000000 2.000000 2.000000 ", 1);
  const auto sine = jit([](Tensor t) { return sin(t); });
  expect_same(
      [&] {
        const Tensor x = leaf({0});
        const Tensor first = sine(x);
        const Tensor second = sine(x * 2);
        const Tensor third = sine(x * 3);
        sum(first + second + third).backward();
        return text_of(x.grad());
      },
      "6.000000 ", 1);
  const std::string text = print(compiled_autograd::last_traces().front(), {.time = false, .source = false});
  expect_text(text.substr(text.find("void compiled_backward")), R"(
void compiled_backward(Tensor gradient_0, Tensor saved_0, Tensor saved_1, Tensor saved_2, Tensor leaf_0) {
  // gradient_0: "cpu f32[]"
  // saved_0: "cpu f32[1]"
  // saved_1: "cpu f32[1]"
  // saved_2: "cpu f32[1]"
  // leaf_0: "cpu f32[1]"

  // CompiledBackward (NodeCall 4)
  auto aot0_2_t2 = cos(saved_0);  // aot0_2_t2: "cpu f32[1]"

  // SumBackward0 (NodeCall 1)
  auto t0 = reshape(gradient_0, {1});  // t0: "cpu f32[1]"
  auto t1 = expand(t0, {1});  // t1: "cpu f32[1]"

  // CompiledBackward (NodeCall 4)
  auto aot0_2_t3 = mul(t1, aot0_2_t2);  // aot0_2_t3: "cpu f32[1]"

  // MulBackward0 (NodeCall 5)
  auto t2 = mul(aot0_2_t3, 3);  // t2: "cpu f32[1]"

  // CompiledBackward (NodeCall 6)
  auto aot0_1_t2 = cos(saved_1);  // aot0_1_t2: "cpu f32[1]"
  auto aot0_1_t3 = mul(t1, aot0_1_t2);  // aot0_1_t3: "cpu f32[1]"

  // MulBackward0 (NodeCall 7)
  auto t3 = mul(aot0_1_t3, 2);  // t3: "cpu f32[1]"
  auto t4 = add(t2, t3);  // t4: "cpu f32[1]"

  // CompiledBackward (NodeCall 8)
  auto aot0_t2 = cos(saved_2);  // aot0_t2: "cpu f32[1]"
  auto aot0_t3 = mul(t1, aot0_t2);  // aot0_t3: "cpu f32[1]"
  auto t5 = add(t4, aot0_t3);  // t5: "cpu f32[1]"

  // AccumulateGrad (NodeCall 9)
  compiled_autograd::accumulate_grad_(0, leaf_0, t5);  // engine
  compiled_autograd::_exec_final_callbacks_stub(1);  // engine
  return;
}
)");
}

TEST("8: a NaN in a gradient is found, captured or not") {
  expect_same(
      [] {
        const DetectAnomaly detect;
        const Tensor x = leaf({-1});
        const Tensor y = sqrt(x);
        const std::string error = error_of([&] { y.backward(); });
        return error.substr(0, error.find(';'));
      },
      "SqrtBackward0 gave NaN for the gradient of its input 0", 1);
}

TEST("8: captured, the NaN's op of the backward and its parameter are named, and the user's line") {
  compiled_autograd::reset();
  const auto scope = compiled_autograd::enable();
  const DetectAnomaly detect;
  const Tensor w = leaf({4, -1}).set_name("weight"), bias = leaf({1, 1});
  const auto message = [&] {
    const Tensor y = sqrt(w * 2);
    const int line = __LINE__ - 1;
    const std::string error = error_of([&] { sum(y + bias).backward(); });
    const std::string at = "modes_test.cpp:" + std::to_string(line) + ": const Tensor y = sqrt(w * 2);";
    const size_t found = error.find(at);
    return found == std::string::npos ? error : error.substr(0, found) + "HERE" + error.substr(found + at.size());
  };
  const std::string expected =
      "SqrtBackward0 gave NaN for the gradient of its input 0; the forward was called at HERE\n"
      "in the captured backward at `auto t2 = mul(saved_0, 2);`, on the way to the gradient of weight (leaf_1), cpu "
      "f32[2]";
  expect_equal(message(), expected);
  expect_equal(message(), expected);
  expect(!w.grad().defined() && bias.grad().defined(), "what came before the NaN has been done, and nothing after it");
  expect_equal(compiled_autograd::captures(), int64_t{2});  // the second time a leaf has a gradient
}

TEST("8: an error in a node is explained with the line of the forward, captured or not") {
  expect_same(
      [] {
        const DetectAnomaly detect;
        const Tensor x = leaf({1});
        const Tensor y = autograd::apply<Refuses>(x);
        const std::string error = error_of([&] { (y * 2).backward(); });
        return error.substr(0, error.find("modes_test"));
      },
      "this backward is refused\nin RefusesBackward; the forward was called at ", 1);
}

namespace {

/// A hook that fails the first time, and a second backward of the same graph.
std::string fail_and_try_again(
    const std::function<void(const Tensor& y, const Tensor& x, const std::function<void()>& fail)>& register_hook,
    const std::function<Tensor(const Tensor&)>& f) {
  const Tensor x = leaf({1, 2}), z = leaf({3, 4});
  bool fails = true;
  const Tensor y = f(x);
  const Tensor product = y * exp(z);
  register_hook(y, x, [&] {
    if (fails) throw std::runtime_error("the hook gave up");
  });
  const Tensor loss = sum(product * product);
  std::string out = error_of([&] { loss.backward(); }) + " " + text_of(x.grad()) + text_of(z.grad());
  fails = false;
  out += error_of([&] { loss.backward(); }) + " ";
  out += error_of([&] { sum(y).backward(); }) + " " + text_of(x.grad());
  return out;
}

}  // namespace

TEST("if a hook throws, the nodes before it are freed, and the rest of the graph is kept") {
  const auto squared = [](const Tensor& x) { return x * x; };
  const auto checkpointed = [](const Tensor& x) { return checkpoint([](Tensor t) { return sin(t) * t; })(x); };
  const auto on_tensor = [](const Tensor& y, const Tensor&, const std::function<void()>& fail) {
    y.register_hook([fail](Tensor) { fail(); });
  };
  const auto after_node = [](const Tensor& y, const Tensor&, const std::function<void()>& fail) {
    y.grad_fn()->register_hook([fail](const std::vector<Tensor>&, const std::vector<Tensor>&) { fail(); });
  };
  const auto after_leaf = [](const Tensor&, const Tensor& x, const std::function<void()>& fail) {
    x.register_post_accumulate_grad_hook([fail](Tensor) { fail(); });
  };
  const std::string again =
      "backward through MulBackward0 a second time: what it had saved was freed by the first backward(); give "
      "{.retain_graph = true} to every backward() or autograd::grad() but the last";
  for (const auto& f :
       {std::function<Tensor(const Tensor&)>(squared), std::function<Tensor(const Tensor&)>(checkpointed)})
    for (const auto& hook :
         {std::function<void(const Tensor&, const Tensor&, const std::function<void()>&)>(on_tensor),
          std::function<void(const Tensor&, const Tensor&, const std::function<void()>&)>(after_node),
          std::function<void(const Tensor&, const Tensor&, const std::function<void()>&)>(after_leaf)}) {
      const std::string expected = fail_and_try_again(hook, f);
      expect(expected.starts_with("the hook gave up ") && expected.find(again) != std::string::npos, expected);
      const auto scope = compiled_autograd::enable({.executors = {"eager"}});
      expect_equal(fail_and_try_again(hook, f), expected);
    }
}

TEST("a hook's write to a tensor that a later node saved is refused at that node, captured or not") {
  expect_same(
      [] {
        const Tensor x = leaf({1, 2});
        const Tensor y = exp(x);
        const Tensor z = sin(y);
        std::string order;
        z.register_hook([&](Tensor) {
          const NoGrad no_grad;
          y.mul_(2);
          order += "written ";
        });
        y.register_hook([&](Tensor) { order += "y "; });
        x.register_hook([&](Tensor) { order += "x "; });
        return error_of([&] { sum(z * 2).backward(); }) + " " + order + text_of(x.grad());
      },
      "a tensor needed for backward was changed in place: cpu f32[2], input 0 of SinBackward0, is at version 1 but "
      "was saved at version 0; write into a clone, or after backward() written none ",
      1);
}

TEST("hooks stay with the value before a write, in both modes") {
  expect_same(
      [] {
        const Tensor x = leaf({1});
        const Tensor b = x * 2;
        std::string seen;
        const HookHandle removed = b.register_hook([](Tensor gradient) { return gradient * 100; });
        b.register_hook([&](Tensor gradient) { seen = text_of(gradient); });
        b.retain_grad();
        b.mul_(5);
        removed.remove();
        sum(b * 3).backward();
        return seen + text_of(b.grad()) + text_of(x.grad());
      },
      "15.000000 3.000000 30.000000 ", 1);
}

TEST("elements overwritten by a value without history have a gradient of zeros, in both modes") {
  expect_same(
      [] {
        const Tensor x = leaf({1, 2}), h = x * 2;
        h.zero_();
        sum(h + 3).backward();
        return text_of(x.grad());
      },
      "0.000000 0.000000 ", 1);
}

TEST("parameters accumulate in PyTorch's order, in both modes") {
  expect_same(
      [] {
        const Tensor x = ones({2, 3});
        const Tensor w0 = ones({4, 3}).requires_grad_(), b0 = zeros({4}).requires_grad_();
        const Tensor w1 = ones({2, 4}).requires_grad_(), b1 = zeros({2}).requires_grad_();
        std::string order;
        const auto watch = [&](const Tensor& t, const char* name) {
          t.register_post_accumulate_grad_hook([&order, name](Tensor) { order += name; });
        };
        watch(w0, "0.weight ");
        watch(b0, "0.bias ");
        watch(w1, "1.weight ");
        watch(b1, "1.bias ");
        sum(nn::linear(nn::linear(x, w0, b0), w1, b1)).backward();
        return order;
      },
      "1.bias 1.weight 0.bias 0.weight ", 1);
}

TEST("a jitted function that is given a view of what was written since leads to the write, in both modes") {
  const auto doubled = jit([](Tensor t) { return t * 2; });
  expect_same(
      [&] {
        const Tensor x = leaf({1, 2});
        const Tensor base = x * 3;
        const Tensor view = base(Slice(0, 1));
        base.mul_(5);
        std::string seen;
        base.register_hook([&](Tensor gradient) { seen = text_of(gradient); });
        sum(doubled(view)).backward();
        return seen + text_of(x.grad());
      },
      "2.000000 0.000000 30.000000 0.000000 ", 1);
}
