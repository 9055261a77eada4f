// Backward inside a backward: the reentrant checkpoint, hooks that run backward, and the depth of nesting.
#include <cmath>
#include <functional>
#include <memory>

#include <fulgurite/fulgurite.h>

#include "support/stderr_text.h"
#include "support/test.h"

using namespace fulgurite;

namespace {

Tensor leaf(std::vector<float> values) { return tensor(values).requires_grad_(); }
std::vector<float> values(const Tensor& t) { return t.contiguous().to_vector<float>(); }

using Function = std::function<Tensor(const Tensor&)>;

Tensor reentrant(const Tensor& x, const Function& f) { return checkpoint(f, {.use_reentrant = true})(x); }

}  // namespace

TEST("a reentrant checkpoint gives the gradients of arguments and of captured leaves") {
  const Tensor x = leaf({0.5, -1}), w = leaf({2, 3});
  int runs = 0;
  const Function f = [&](const Tensor& t) {
    ++runs;
    return sin(t * w) * t;
  };
  sum(f(x)).backward();
  const std::vector<float> of_x = values(x.grad()), of_w = values(w.grad());
  x.set_grad({});
  w.set_grad({});
  sum(reentrant(x, f) * 1).backward();
  expect_equal(runs, 3);
  expect_near(values(x.grad()), of_x);
  expect_near(values(w.grad()), of_w);
  // Mixed with the checkpoint of the library, one in the other.
  x.set_grad({});
  w.set_grad({});
  sum(checkpoint([&](Tensor t) { return reentrant(t, f); })(x)).backward();
  expect_near(values(x.grad()), of_x);
  expect_near(values(w.grad()), of_w);
}

TEST("backward goes deep, and each run has its own callbacks and order") {
  const Tensor x = leaf({1});
  Function f = [](const Tensor& t) { return t * 2; };
  constexpr int depth = 200;
  for (int i = 0; i < depth; ++i)
    f = [inner = std::make_shared<const Function>(f)](const Tensor& t) {
      return reentrant(t, [inner](const Tensor& u) { return (*inner)(u); }) + t;
    };
  sum(f(x)).backward();
  expect_near(values(x.grad()), {depth + 2.0});

  std::string order;
  const auto say = [&order](const char* what) {
    return [&order, what](const auto&...) { order += std::string(what) + " "; };
  };
  const Tensor a = leaf({1}), b = leaf({1});
  a.register_post_accumulate_grad_hook(say("a"));
  b.register_post_accumulate_grad_hook(say("b"));
  const Tensor outer = a * 3;
  outer.register_hook([&](Tensor) {
    autograd::queue_callback(say("outer"));
    const EnableGrad records;
    const Tensor inner = b * 2;
    inner.register_hook([&](Tensor) { autograd::queue_callback(say("inner")); });
    inner.backward();
  });
  outer.backward();
  expect_equal(order, "b inner a outer ");
}

TEST("an error in an inner backward ends the outer one, and both leave nothing behind") {
  const Tensor x = leaf({1, 2});
  bool fails = true;
  const Function f = [&](const Tensor& t) {
    Tensor y = exp(t);
    if (!y.requires_grad()) return y;  // the forward of the checkpoint
    y.register_hook([&](Tensor) {
      if (fails) throw std::runtime_error("stop");
    });
    return y;
  };
  const auto run = [&] {
    const Tensor y = x * 2;
    sum(reentrant(y, f)).backward();
  };
  expect_error(run, "stop");
  fails = false;
  run();
  expect_near(values(x.grad()), {2 * std::exp(2.0f), 2 * std::exp(4.0f)}, 1e-5);
  expect_error([] { autograd::queue_callback([] {}); }, "no backward runs on this thread");
}

TEST("a reentrant checkpoint repeats its draws, and gives back what its function gives") {
  const Tensor x = randn({64}).requires_grad_();
  const auto f = [](std::pair<Tensor, double> given) {
    const Tensor kept = nn::dropout(given.first, 0.5) * given.second;
    return std::tuple<Tensor, int, Tensor>(kept, 3, given.first.detach() * 2);
  };
  const auto [y, three, constant] = checkpoint(f, {.use_reentrant = true})(std::pair<Tensor, double>(x, 1.5));
  expect_equal(three, 3);
  expect_near(values(constant.detach()), values((x * 2).detach()));
  sum(y).backward();
  std::vector<float> expected;
  for (const float kept : values(y.detach())) expected.push_back(kept == 0 ? 0.0f : 3.0f);
  expect_near(values(x.grad()), expected);
}

TEST("unsupported uses of a reentrant checkpoint are errors") {
  const Tensor x = leaf({0.5, -1});
  const Function f = [](const Tensor& t) { return sin(t); };
  const char* asked = "checkpoint: with use_reentrant a backward that is asked for certain gradients only";
  expect_error([&] { autograd::grad(sum(reentrant(x * 1, f)), x); }, asked);
  expect_error([&] { sum(reentrant(x * 1, f)).backward({}, {.inputs = std::vector<Tensor>{x}}); }, asked);
  expect_error(
      [&] {
        sum(reentrant(x * 1, f)).backward({}, {.create_graph = true});
        sum(x.grad()).backward();
      },
      "a second derivative of Checkpoint, which is marked once_differentiable");
  x.set_grad({});
  int runs = 0;
  const Function changes = [&](const Tensor& t) { return ++runs == 1 ? sin(t) : t.detach(); };
  expect_error([&] { sum(reentrant(x * 1, changes)).backward(); }, "this checkpoint is not necessary");
  const std::string said =
      test::stderr_text([&] { expect(!reentrant(tensor(std::vector<float>{1}), f).requires_grad(), "no gradient"); });
  expect(said.find("no argument requires grad") != std::string::npos, said);
  // Inside a jitted function both kinds are the same recomputation.
  const auto jitted = jit([&](Tensor t) { return sum(reentrant(t, f)); });
  jitted(x).backward();
  expect_near(values(x.grad()), {std::cos(0.5f), std::cos(-1.0f)}, 1e-6);
}
