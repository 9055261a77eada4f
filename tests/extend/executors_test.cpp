// User-defined executors: their claims, the order of claims, and no effect on other functions.
#include <atomic>
#include <thread>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

namespace fulgurite {

namespace {

const Symbol& sine() { return *find_symbol("sin"); }

template <class F>
Tensor gradient_of(F&& f, const Tensor& x) {
  const Tensor leaf = x.clone().requires_grad_();
  f(leaf).sum().backward();
  return leaf.grad();
}

// A sine that is recognised by its sign, and a gradient that is recognised by its size.
OperatorExecutor negative_sine(const std::string& name) {
  OperatorExecutor ex(name);
  ex.register_implementation(sine(), [](Tensor x) { return -sin(x); },
                             {.checker = [](Tensor x) { return x.ndim() == 1; },
                              .grad_transform =
                                  [](Tensor x) {
                                    Tensor y = sin(x);
                                    const Tensor g = get_grad(y);
                                    put_grad(x, g * 100);
                                    return y;
                                  }});
  register_executor(ex);
  return ex;
}

}  // namespace

TEST("an executor claims the calls its checker takes, where it is in the list") {
  negative_sine("claims");
  const Tensor row = tensor({0.5, 1.0}), table = tensor({{0.5, 1.0}});
  const auto f = [](Tensor x) { return sin(x) + 1; };
  const auto mine = jit(f, {.executors = {"claims"}});
  const Tensor expected = 1 - sin(row);
  expect_near(mine(row).to_vector<float>(), expected.to_vector<float>());
  expect_trace(last_traces(mine).back(), R"(
// Constructed by Delete Last Used
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

Tensor computation(Tensor t_0) {
  // t_0: "cpu f32[2]"
  auto t0 = sin(t_0);  // t0: "cpu f32[2]", claims
  del(t_0);
  auto t1 = add(t0, 1);  // t1: "cpu f32[2]"
  del(t0);
  return t1;
}
)");
  expect_near(mine(table).to_vector<float>(), (1 + sin(row)).to_vector<float>());
  expect_near(jit(f)(row).to_vector<float>(), (1 + sin(row)).to_vector<float>());
  expect_near(f(row).to_vector<float>(), (1 + sin(row)).to_vector<float>());
}

TEST("its gradient rule is used only for ops that it claims, and not by other executors afterwards") {
  negative_sine("rules");
  const Tensor row = tensor({0.5, 1.0}), table = tensor({{0.5, 1.0}});
  const auto f = [](Tensor x) { return sin(x); };
  const std::vector<float> own = cos(row).to_vector<float>();
  const auto mine = jit(f, {.executors = {"rules"}});
  expect_near(gradient_of(f, row).to_vector<float>(), own);
  expect_near(gradient_of(mine, row).to_vector<float>(), {100, 100});
  expect_near(gradient_of(mine, table).to_vector<float>(), own);
  expect_near(gradient_of(jit(f), row).to_vector<float>(), own);
  expect_near(gradient_of(f, row).to_vector<float>(), own);
  expect_near(gradient_of(mine, row).to_vector<float>(), {100, 100});
  // Gradients taken inside a function are those of its executors too.
  const auto slope = [f](Tensor x) { return grad([f](Tensor t) { return f(t).sum(); })(x); };
  expect_near(jit(slope, {.executors = {"rules"}})(row).to_vector<float>(), {100, 100});
  expect_near(jit(slope)(row).to_vector<float>(), own);
  expect_near(slope(row).to_vector<float>(), own);
}

TEST("the default executors' rules are those of eager mode; nothing stale is used when they change") {
  negative_sine("defaults");
  const Tensor row = tensor({0.5, 1.0});
  const auto f = [](Tensor x) { return sin(x); };
  const std::vector<float> own = cos(row).to_vector<float>();
  const auto before = jit(f);
  expect_near(gradient_of(f, row).to_vector<float>(), own);
  const std::vector<std::string> names = default_executors();
  set_default_executors({"defaults", "onednn"});
  expect_equal(default_executors(), std::vector<std::string>({"defaults", "onednn"}));
  const std::vector<float> with_mine = gradient_of(f, row).to_vector<float>();
  const std::vector<float> jitted = gradient_of(jit(f), row).to_vector<float>();
  const std::vector<float> jitted_before = gradient_of(before, row).to_vector<float>();
  set_default_executors(names);
  expect_near(with_mine, {100, 100});
  expect_near(jitted, {100, 100});
  expect_near(jitted_before, own);
  expect_near(gradient_of(f, row).to_vector<float>(), own);
}

TEST("the first executor that can execute a call decides about its gradient") {
  const OperatorExecutor plain("decides_plain"), rule("decides_rule"), only_rule("decides_only_rule");
  plain.register_implementation(sine(), [](Tensor x) { return sin(x); });
  const auto times = [](double factor) {
    return [factor](Tensor x) {
      Tensor y = sin(x);
      const Tensor g = get_grad(y);
      put_grad(x, g * factor);
      return y;
    };
  };
  rule.register_implementation(sine(), [](Tensor x) { return sin(x); }, {.grad_transform = times(10)});
  only_rule.register_augmented_forward(sine(), [](Tensor x) { return std::pair(sin(x), std::vector<Tensor>()); });
  only_rule.register_backward(sine(), [](Tensor g) { return g * 7; });
  for (const OperatorExecutor& ex : {plain, rule, only_rule}) register_executor(ex);
  const Tensor x = tensor({0.5, 1.0});
  const auto f = [](Tensor t) { return sin(t); };
  const auto with = [&](std::vector<std::string> names) {
    return gradient_of(jit(f, {.executors = std::move(names)}), x).to_vector<float>();
  };
  expect_near(with({"decides_plain", "decides_rule"}), cos(x).to_vector<float>());
  expect_near(with({"decides_rule", "decides_plain"}), {10, 10});
  expect_near(with({"decides_only_rule", "decides_rule"}), {7, 7});
  expect_near(with({"decides_plain", "decides_only_rule"}), cos(x).to_vector<float>());
}

TEST("an execution transform records other operators in the symbol's place") {
  const OperatorExecutor ex("replaces");
  const auto fast = ex.register_operator("replaces::fast(Tensor x) -> Tensor", [](Tensor x) { return tanh(x); });
  ex.register_implementation(*find_symbol("tanh"), nullptr,
                             {.checker = [](Tensor x) { return x.ndim() == 1; },
                              .execution_transform =
                                  [fast](Tensor x) {
                                    const Tensor half = x * 0.5;
                                    return fast(half * 2);
                                  }});
  ex.register_implementation(sine(), nullptr, {.execution_transform = [](Tensor x) { return sin(x) * 2; }});
  register_executor(ex);
  const Tensor x = tensor({0.5, 1.0});
  const auto f =
      jit([](Tensor t) { return tanh(t) + sin(t); }, {.executors = {"replaces"}, .debug = {.check_traces = true}});
  expect_near(f(x).to_vector<float>(), (tanh(x) + sin(x) * 2).to_vector<float>());
  expect_trace(last_traces(f).back(), R"(
// Constructed by Delete Last Used
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

namespace replaces {
inline Tensor fast(const Arg& x) {
  return call("replaces::fast", {x});
}
}

Tensor computation(Tensor t_0) {
  // t_0: "cpu f32[2]"
  auto t3 = mul(t_0, 0.5);  // t3: "cpu f32[2]"
  auto t4 = mul(t3, 2);  // t4: "cpu f32[2]"
  del(t3);
  auto t0 = replaces::fast(t4);  // t0: "cpu f32[2]", replaces
  del(t4);
  auto t6 = sin(t_0);  // t6: "cpu f32[2]"
  del(t_0);
  auto t1 = mul(t6, 2);  // t1: "cpu f32[2]"
  del(t6);
  auto t2 = add(t0, t1);  // t2: "cpu f32[2]"
  del(t0, t1);
  return t2;
}
)");
  const OperatorExecutor wrong("replaces_wrong");
  wrong.register_implementation(sine(), nullptr, {.execution_transform = [](Tensor t) { return t.sum(); }});
  register_executor(wrong);
  expect_error([&] { jit([](Tensor t) { return sin(t); }, {.executors = {"replaces_wrong"}})(x); },
               "the execution transform of torch.sin gave cpu f32[] as result 0, which is cpu f32[2]");
}

TEST("a function may take only a tensor, or only a number, where a signature takes both") {
  const OperatorExecutor ex("operands");
  ex.register_implementation(*find_symbol("mul"), [](Tensor a, double b) { return a + b; });
  register_executor(ex);
  const auto f = jit([](Tensor a, Tensor b) { return (a * 3) * b; }, {.executors = {"operands"}});
  expect_near(f(tensor({1.0, 2.0}), tensor({10.0, 10.0})).to_vector<float>(), {40, 50});
}

TEST("names of executors") {
  const OperatorExecutor ex("named");
  expect_equal(ex.name(), std::string("named"));
  expect_error([] { jit([](Tensor x) { return x; }, {.executors = {"named"}}); },
               "jit: there is no executor \"named\"; registered are onednn, ");
  register_executor(ex);
  jit([](Tensor x) { return x; }, {.executors = {"named"}});
  const std::vector<std::string> names = all_executors();
  expect_equal(names.back(), std::string("eager"));
  expect_equal(names[names.size() - 2], std::string("named"));
  expect_error([&] { register_executor(ex); }, "there is an executor \"named\" already");
  expect_error([] { OperatorExecutor(""); }, "an executor needs a name");
  expect_error([] { set_default_executors({"nobody"}); }, "there is no executor \"nobody\"; registered are onednn, ");
}

TEST("an executor implements a symbol once, and only what can be implemented") {
  const OperatorExecutor ex("once");
  const auto run = [](Tensor x) { return sin(x); };
  ex.register_implementation(sine(), run);
  expect_error([&] { ex.register_implementation(sine(), run); },
               "the executor \"once\" has an implementation of torch.sin already");
  expect_error([&] { ex.register_implementation(*find_symbol("cos"), nullptr); },
               "an implementation of torch.cos needs a run, an execution_transform or a grad_transform");
  expect_error([&] { ex.register_implementation(*find_symbol("prims.return"), run); }, "no executor implements it");
  const OperatorExecutor half("half_of_a_pair");
  half.register_augmented_forward(sine(), [](Tensor x) { return std::pair(sin(x), std::tuple(x)); });
  register_executor(half);
  expect_error(
      [] { jit([](Tensor x) { return sin(x); }, {.executors = {"half_of_a_pair"}})(ones({2}).requires_grad_()); },
      "the executor \"half_of_a_pair\" has an augmented forward of torch.sin and no backward for it");
  half.register_backward(sine(), [](Tensor x) { return x; });
  expect_error(
      [] { jit([](Tensor x) { return sin(x); }, {.executors = {"half_of_a_pair"}})(ones({2}).requires_grad_()); },
      "the backward of torch.sin takes 1 value(s), but its forward saved 1 and there are 1 cotangent(s)");
}

TEST("registration while other threads call") {
  const OperatorExecutor ex("threads");
  const auto first = ex.register_operator("threads::first(Tensor x) -> Tensor", [](Tensor x) { return x * 2; },
                                          {.grad_transform = [](Tensor x) {
                                            Tensor y = x * 2;
                                            put_grad(x, get_grad(y) * 2);
                                            return y;
                                          }});
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0, calls = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      while (!stop || calls < 3) {
        const Tensor x = ones({2}).requires_grad_();
        first(x).sum().backward();
        const Tensor y = call("threads::first", {x.detach()});
        if (x.grad().to_vector<float>()[0] != 2 || y.to_vector<float>()[1] != 2 || symbols().empty()) ++wrong;
        ++calls;
      }
    });
  for (int i = 0; i < 20; ++i) {
    const std::string name = "threads::f" + std::to_string(i);
    const auto f = ex.register_operator(name + "(Tensor x) -> Tensor", [i](Tensor x) { return x + i; });
    if (f(zeros({1})).item<int>() != i) ++wrong;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  expect_equal(wrong.load(), 0);
}

}  // namespace fulgurite
