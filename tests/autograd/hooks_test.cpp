// Hooks: their kinds, their order, their inputs and results. The orders are PyTorch's.
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

namespace {
Tensor leaf(std::vector<float> values) { return tensor(values).requires_grad_(); }
std::vector<float> values(const Tensor& t) { return t.contiguous().to_vector<float>(); }
std::shared_ptr<Node> accumulator_of(const Tensor& leaf) { return (leaf * 1).grad_fn()->next_edges()[0].node; }
/// Has a gradient for its first argument alone.
struct First {
  static Tensor forward(autograd::Context&, Tensor a, Tensor b) { return a * b; }
  static std::vector<Tensor> backward(autograd::Context&, Tensor gradient) { return {gradient, {}}; }
};
}  // namespace

TEST("hooks of all kinds run in order") {
  std::string order;
  const auto say = [&](const char* what) {
    return [&order, what](const auto&...) { order += std::string(what) + " "; };
  };
  const Tensor a = leaf({1, 2});
  const Tensor b = a * 2;
  b.retain_grad();
  b.register_hook(say("b.1"));
  b.register_hook([&](Tensor gradient) {
    order += "b.2 ";
    return gradient * 10;
  });
  b.grad_fn()->register_hook(say("mul.post"));
  b.grad_fn()->register_prehook(say("mul.pre"));
  a.register_hook(say("a.tensor"));
  const std::shared_ptr<Node> accumulator = accumulator_of(a);
  accumulator->register_prehook(say("acc.pre"));
  accumulator->register_hook(say("acc.post"));
  a.register_post_accumulate_grad_hook([&](Tensor leaf) {
    expect(leaf.grad().defined());
    order += "a.accumulated ";
  });
  sum(b).backward();
  expect_equal(order, "b.1 b.2 mul.pre mul.post a.tensor acc.pre a.accumulated acc.post ");
  expect_near(values(b.grad()), {10, 10});  // what hooks left of it
  expect_near(values(a.grad()), {20, 20});
}

TEST("hooks before and after a node replace its gradients, and a handle takes one away") {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 3;
  size_t outputs_seen = 0;
  const HookHandle before = y.grad_fn()->register_prehook(
      [](const std::vector<Tensor>& gradients) -> std::vector<Tensor> { return {gradients[0] + 1}; });
  const HookHandle after =
      y.grad_fn()->register_hook([&](const std::vector<Tensor>& of_inputs, const std::vector<Tensor>& of_outputs) {
        outputs_seen = of_outputs.size();
        expect_near(values(of_outputs[0]), {2, 2});
        return std::optional(std::vector<Tensor>(of_inputs.size(), of_inputs[0] * 100));
      });
  sum(y).backward({}, {.retain_graph = true});
  expect_equal(outputs_seen, size_t{1});
  expect_near(values(x.grad()), {600, 600});
  x.set_grad({});
  before.remove();
  after.remove();
  sum(y).backward();
  expect_near(values(x.grad()), {3, 3});
}

TEST("the result of a hook must have the gradient's form") {
  const Tensor x = leaf({1, 2});
  {
    const Tensor y = exp(x);
    y.register_hook([](Tensor) { return ones({3}); });
    expect_error([&] { sum(y).backward(); },
                 "a gradient hook turned cpu f32[2] into cpu f32[3]; it must keep sizes and dtype");
  }
  {
    const Tensor y = exp(x);
    y.register_hook([](Tensor gradient) { return gradient.to(Dtype::f64); });
    expect_error([&] { sum(y).backward(); },
                 "a gradient hook turned cpu f32[2] into cpu f64[2]; it must keep sizes and dtype");
  }
  {
    const Tensor y = exp(x);
    y.grad_fn()->register_prehook([](const std::vector<Tensor>&) { return std::vector<Tensor>{}; });
    expect_error([&] { sum(y).backward(); }, "a gradient hook before ExpBackward0 gave 0 gradients in place of 1");
  }
  {
    const Tensor y = exp(x);
    y.grad_fn()->register_hook([](const auto&, const auto&) { return std::vector<Tensor>{ones({1})}; });
    expect_error([&] { sum(y).backward(); }, "a gradient hook after ExpBackward0 turned cpu f32[2] into cpu f32[1]");
  }
  expect_error([] { ones({2}).register_hook([](Tensor) {}); },
               "register_hook() of cpu f32[2], which does not require grad");
  expect_error([] { ones({2}).retain_grad(); }, "retain_grad() of cpu f32[2], which does not require grad");
  const Tensor y = exp(x);
  expect_error([&] { y.register_post_accumulate_grad_hook([](Tensor) {}); },
               "which is not a leaf; use register_hook()");
}

TEST("an exception of a hook goes through backward as it is") {
  struct Stop {};
  const Tensor x = leaf({1, 2});
  const Tensor y = exp(x);
  x.register_hook([](Tensor) { throw Stop(); });
  bool stopped = false;
  try {
    sum(y).backward();
  } catch (const Stop&) {
    stopped = true;
  }
  expect(stopped);
  // The nodes that ran have released their saved tensors.
  expect_error([&] { sum(y).backward(); }, "backward through ExpBackward0 a second time");
}

TEST("the hooks of a leaf see values that later ones do not change") {
  const Tensor x = leaf({1, 1, 1});
  const std::shared_ptr<Node> accumulator = accumulator_of(x);
  std::string order;
  x.register_hook([&](Tensor gradient) {
    order += "1";
    return gradient - 2;
  });
  accumulator->register_prehook([&](const std::vector<Tensor>& gradients) {
    order += "2";
    return std::vector<Tensor>{gradients[0] / 5};
  });
  x.register_post_accumulate_grad_hook([&](Tensor leaf) {
    order += "3";
    const NoGrad no_grad;
    leaf.grad().add_(0.5);
  });
  accumulator->register_hook([&](const std::vector<Tensor>& of_inputs, const std::vector<Tensor>& of_outputs) {
    order += "4";
    expect(of_inputs.empty());
    x.set_grad(of_outputs[0] * 10);
  });
  sum(x).backward();
  expect_equal(order, "1234");
  expect_near(values(x.grad()), {-2, -2, -2});
}

TEST("gradients of a part of the graph run no more than it") {
  const Tensor y = leaf({1, 2}), z = leaf({3, 4});
  int of_z = 0, accumulated = 0, of_y = 0;
  const Tensor u = exp(y);
  u.grad_fn()->register_prehook([&](const std::vector<Tensor>&) { ++of_y; });
  z.register_hook([&](Tensor) { ++of_z; });
  z.register_post_accumulate_grad_hook([&](Tensor) { ++accumulated; });
  const Tensor loss = sum(u * z);
  const Tensor gradient = autograd::grad(loss, z)[0];
  expect_near(values(gradient), values(u));
  expect_equal(of_z, 1);
  expect_equal(accumulated, 0);
  expect_equal(of_y, 0);
  expect(!y.grad().defined() && !z.grad().defined());
}

TEST("callbacks run after every leaf has its gradient, in order") {
  const Tensor x = leaf({1, 2});
  std::string order;
  x.register_hook([&](Tensor) {
    order += "hook ";
    autograd::queue_callback([&] {
      order += x.grad().defined() ? "first " : "early ";
      autograd::queue_callback([&] { order += "queued "; });
    });
    autograd::queue_callback([&] { order += "second "; });
  });
  sum(x * x).backward();
  expect_equal(order, "hook first second queued ");
  expect_error([] { autograd::queue_callback([] {}); }, "queue_callback(): no backward runs on this thread");
}

TEST("a hook may run another backward, over the same nodes too") {
  const Tensor x = leaf({3});
  const Tensor y = x * x;
  std::vector<float> inner;
  x.register_hook([&](Tensor) {
    const EnableGrad records;
    const Tensor other = leaf({2});
    sum(other * other * other).backward();
    inner = values(other.grad());
  });
  int depth = 0;
  y.register_hook([&](Tensor) {
    if (depth++ > 0) return;  // in the inner one
    const EnableGrad records;
    expect_near(values(autograd::grad(sum(y), x, {}, {.retain_graph = true})[0]), {6});
  });
  sum(y).backward();
  expect_near(inner, {12});
  expect_equal(depth, 2);
  expect_near(values(x.grad()), {6});
}

TEST("nodes have PyTorch's names and numbers") {
  const Tensor x = leaf({1});
  const Tensor first = exp(x), second = sum(first * x);
  expect_equal(second.grad_fn()->name(), "SumBackward0");
  expect_equal(second.grad_fn()->next_edges()[0].node->name(), "MulBackward0");
  expect_less(first.grad_fn()->sequence_nr(), second.grad_fn()->sequence_nr());
  const std::shared_ptr<Node> accumulator = first.grad_fn()->next_edges()[0].node;
  expect_equal(accumulator->name(), "AccumulateGrad");
  expect_equal(accumulator->sequence_nr(), ~uint64_t{0});
  expect_equal(accumulator->topological_nr(), uint64_t{0});
  expect_equal(second.grad_fn()->topological_nr(), uint64_t{3});
  std::string order;
  const auto watched = [&](Tensor t, const char* name) {
    t.grad_fn()->register_prehook([&order, name](const std::vector<Tensor>&) { order += name; });
    return t;
  };
  const Tensor a = watched(sin(x), "sin "), b = watched(cos(x), "cos "), c = watched(exp(x), "exp ");
  sum(a + b + c).backward();
  expect_equal(order, "exp cos sin ");
}

TEST("without a gradient the hooks of nodes run, and those of tensors do not") {
  const Tensor a = leaf({1}), b = leaf({2});
  std::string order;
  const auto say = [&order](const char* what) {
    return [&order, what](const std::vector<Tensor>& gradients, const auto&...) {
      order += std::string(what) + (gradients.empty() || !gradients[0].defined() ? " nothing " : " something ");
    };
  };
  const Tensor c = exp(b);
  c.grad_fn()->register_prehook(say("before"));
  c.grad_fn()->register_hook(say("after"));
  b.register_hook([&](Tensor) { order += "tensor "; });
  b.register_post_accumulate_grad_hook([&](Tensor t) { order += t.grad().defined() ? "accumulated " : "left "; });
  autograd::apply<First>(a, c).backward();
  expect_equal(order, "before nothing after nothing left ");
  expect_near(values(a.grad()), {1});
  expect(!b.grad().defined());
}
