// checkpoint() in eager mode: nothing is kept between forward and backward but the arguments, and nothing else changes.
#include <atomic>
#include <thread>

#include <fulgurite/fulgurite.h>

#include "support/context.h"
#include "support/test.h"
#include "tensor/memory/allocator.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

int64_t bytes_in_use() { return allocator_statistics().in_use; }

std::vector<float> values(const Tensor& tensor) { return tensor.to_vector<float>(); }

Tensor leaf(Shape shape) { return randn(shape).requires_grad_(); }

// The gradient of sum(f(x) * x) for a fresh leaf with these values.
template <class F>
std::vector<float> gradient(F f, const Tensor& at) {
  const Tensor x = at.detach().clone().requires_grad_();
  sum(f(x) * 2).backward();
  return values(x.grad());
}

Tensor deep(Tensor x) {
  for (int i = 0; i < 6; ++i) x = tanh(sin(x) * exp(x * 0.1));
  return x;
}

Tensor q_then_p(Tensor x) {
  const Tensor p = cos(x), q = sin(p);
  return maximum(q, p);
}
Tensor p_then_q(Tensor x) {
  const Tensor p = cos(x), q = sin(p);
  return maximum(p, q);
}

}  // namespace

TEST("a checkpointed function gives the same values and gradients, bit for bit") {
  manual_seed(3);
  const Tensor x = randn({5, 7});
  expect_equal(values(checkpoint(deep)(x)), values(deep(x)));
  expect_equal(gradient(checkpoint(deep), x), gradient(deep, x));
  expect_equal(gradient(checkpoint(q_then_p), x), gradient(q_then_p, x));
  expect_equal(gradient(checkpoint(p_then_q), x), gradient(p_then_q, x));
  const auto nested =
      checkpoint([](Tensor t) { return checkpoint(q_then_p)(checkpoint(p_then_q)(t * 2)) + checkpoint(deep)(t); });
  const auto plain = [](Tensor t) { return q_then_p(p_then_q(t * 2)) + deep(t); };
  expect_equal(gradient(nested, x), gradient(plain, x));
}

TEST("a jitted function with checkpoints gives the same values and gradients") {
  manual_seed(4);
  const Tensor x = randn({5, 7});
  expect_equal(gradient(jit(checkpoint(q_then_p)), x), gradient(jit(q_then_p), x));
  expect_equal(gradient(jit(checkpoint(p_then_q)), x), gradient(jit(p_then_q), x));
  const auto nested = [](Tensor t) {
    return checkpoint([](Tensor s) { return checkpoint(q_then_p)(checkpoint(p_then_q)(s * 2)); })(t);
  };
  const auto plain = [](Tensor t) { return q_then_p(p_then_q(t * 2)); };
  expect_equal(gradient(jit(nested), x), gradient(jit(plain), x));
  expect_equal(gradient(checkpoint(jit(plain)), x), gradient(jit(plain), x));
}

TEST("nothing is kept between forward and backward but the arguments and the result") {
  const int64_t size = 64 * 1024;
  const Tensor x = leaf({size});
  gradient(checkpoint(deep), x);  // what compiles once has been compiled
  const int64_t before = bytes_in_use();
  Tensor y = checkpoint(deep)(x);
  const int64_t kept = bytes_in_use() - before;
  expect(kept < size * 4 + 4096, std::to_string(kept) + " bytes, the result has " + std::to_string(size * 4));
  const Tensor z = deep(x);
  expect(bytes_in_use() - before - kept > 15 * size * 4,
         "the function itself keeps nothing: the test compares nothing");
  sum(y).backward();
  const int64_t after_backward = bytes_in_use();
  y = Tensor();
  expect_less(bytes_in_use(), after_backward);
}

TEST("only arguments without another owner are kept") {
  const int64_t size = 64 * 1024;
  const Tensor x = leaf({size});
  const auto run = [&] { return checkpoint(deep)(checkpoint(deep)(exp(x))); };
  sum(run()).backward();
  const int64_t before = bytes_in_use();
  const Tensor y = run();
  const int64_t kept = bytes_in_use() - before;
  // exp saves its result, which is the first argument; the second argument; the result
  expect(kept < 3 * size * 4 + 8192, std::to_string(kept) + " bytes");
  const auto outer = checkpoint([](Tensor t) { return checkpoint(deep)(checkpoint(deep)(t)); });
  const int64_t before_nested = bytes_in_use();
  const Tensor z = outer(x);
  const int64_t kept_nested = bytes_in_use() - before_nested;
  expect(kept_nested < size * 4 + 8192, "nested: " + std::to_string(kept_nested) + " bytes");
}

TEST("recomputed values are freed as nodes end") {
  const int64_t size = 64 * 1024;
  const Tensor x = leaf({size});
  sum(checkpoint(deep)(x)).backward();
  x.set_grad(Tensor());
  const int64_t before = bytes_in_use();
  {
    const Tensor y = checkpoint(deep)(x);
    y.backward(ones({size}), {.retain_graph = true});
    expect_less(bytes_in_use() - before, 3 * size * 4 + 8192);  // the result and the gradient
    autograd::grad(y, x, ones({size}), {.retain_graph = true});
    expect_less(bytes_in_use() - before, 3 * size * 4 + 8192);
  }
  expect_less(bytes_in_use() - before, 2 * size * 4);
}

TEST("a graph with a checkpoint that is dropped, or written into itself, is freed") {
  const int64_t size = 64 * 1024;
  const Tensor x = leaf({size});
  const auto run = [&] {
    Tensor h = x * 2;
    h.add_(checkpoint(deep)(x * 3) + checkpoint(deep)(h.detach()));
    const Tensor y = checkpoint([](Tensor t) { return deep(t) * t; })(h);
    h.add_(y);
  };
  run();
  const int64_t before = bytes_in_use();
  for (int i = 0; i < 3; ++i) run();
  expect_equal(bytes_in_use(), before);
}

TEST("the zeros of the gradient of dropout are those of its output, eagerly and jitted") {
  const auto dropped = [](Tensor x) { return nn::dropout(exp(x), 0.5, true); };
  const auto compiled = jit([=](Tensor x) { return checkpoint(dropped)(x); });
  for (uint64_t seed = 0; seed < 100; ++seed) {
    manual_seed(seed);
    const Tensor x = leaf({16});
    const Tensor y = seed % 2 ? compiled(x) : checkpoint(dropped)(x);
    rand({5});  // others draw in between
    const RandomState between = context().generator.state();
    sum(y).backward();
    const RandomState after = context().generator.state();
    expect(between.seed == after.seed && between.offset == after.offset, "backward moved the generator");
    const std::vector<float> output = values(y), slope = values(x.grad());
    for (size_t i = 0; i < output.size(); ++i) expect_equal(output[i] == 0, slope[i] == 0);
    expect_near(slope, output);
  }
}

TEST("nested checkpoints and jitted functions draw the same numbers again") {
  const auto inner = [](Tensor x) { return nn::dropout(exp(x), 0.5, true); };
  const auto compiled = jit(inner);
  const auto outer = checkpoint([=](Tensor x) {
    const Tensor a = checkpoint(inner)(nn::dropout(x, 0.25, true));
    const Tensor b = compiled(nn::dropout(x, 0.25, true));
    return a * b;
  });
  for (uint64_t seed = 0; seed < 10; ++seed) {
    manual_seed(seed);
    const Tensor x = leaf({32});
    const Tensor y = outer(x);
    sum(y).backward();
    const std::vector<float> output = values(y), slope = values(x.grad());
    for (size_t i = 0; i < output.size(); ++i)
      if (output[i] == 0) expect_equal(slope[i], 0.0f);
  }
}

TEST("threads that draw at the same time get their own numbers again") {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      const auto f = checkpoint([](Tensor x) { return nn::dropout(exp(nn::dropout(x, 0.1, true)), 0.5, true); });
      for (int repeat = 0; repeat < 20; ++repeat) {
        const Tensor x = ones({64}).requires_grad_();
        const Tensor y = f(x);
        sum(y).backward();
        const std::vector<float> output = values(y), slope = values(x.grad());
        for (size_t k = 0; k < output.size(); ++k) wrong += output[k] == 0 && slope[k] != 0;
      }
    });
  for (std::thread& thread : threads) thread.join();
  expect_equal(wrong.load(), 0);
}

TEST("a function that sets the seed sets it once") {
  const auto f = checkpoint([](Tensor x) {
    manual_seed(7);
    return nn::dropout(exp(x), 0.5, true);
  });
  const Tensor x = leaf({8});
  const Tensor y = f(x);
  rand({3});
  const RandomState before = context().generator.state();
  sum(y).backward();
  expect_equal(context().generator.state().offset, before.offset);
  expect_near(values(x.grad()), values(y));
}

TEST("captured parameters, several arguments and results, numbers and structures") {
  manual_seed(5);
  struct Layer {
    Tensor weight, bias;
  };
  const Layer layer{leaf({4, 4}), leaf({4})};
  const auto body = [](Layer l, std::vector<Tensor> xs, double scale, const Tensor& shift) {
    const Tensor a = tanh(matmul(xs[0], l.weight) + l.bias);
    return std::pair(a * scale, sin(a) * xs[1] + shift);
  };
  const Tensor shift = leaf({4});
  const auto run = [&](auto f) {
    for (const Tensor& t : {layer.weight, layer.bias, shift}) t.set_grad(Tensor());
    const Tensor x = ones({3, 4}).requires_grad_();
    const auto [first, second] = f(layer, std::vector<Tensor>{x, x * 2}, 0.5, shift);
    sum(first * second).backward();
    std::vector<std::vector<float>> gradients;
    for (const Tensor& t : {layer.weight, layer.bias, shift, x}) gradients.push_back(values(t.grad()));
    return gradients;
  };
  expect_equal(run(checkpoint(body)), run(body));
  const auto captures = [&](auto make) {
    return run([&](Layer, std::vector<Tensor> xs, double scale, const Tensor& s) {
      return make([&, scale, s](Tensor a, Tensor b) { return body(layer, {a, b}, scale, s); })(xs[0], xs[1]);
    });
  };
  expect_equal(captures([](auto f) { return f; }), captures([](auto f) { return checkpoint(f); }));
  expect_equal(captures([](auto f) { return f; }), run(body));
}

TEST("one of several results is enough, and the other may follow") {
  const auto both = [](Tensor x) { return std::pair(exp(sin(x)), tanh(cos(x))); };
  const Tensor x = leaf({4});
  const auto [a, b] = checkpoint(both)(x);
  const auto [c, d] = both(x);
  expect(values(autograd::grad(sum(a), x, {}, {.retain_graph = true})[0]) ==
         values(autograd::grad(sum(c), x, {}, {.retain_graph = true})[0]));
  expect_equal(values(autograd::grad(sum(b), x)[0]), values(autograd::grad(sum(d), x)[0]));
}

TEST("a graph that is kept can be gone through twice") {
  const Tensor x = leaf({4});
  const Tensor y = sum(checkpoint(deep)(x));
  y.backward({}, {.retain_graph = true});
  const std::vector<float> once = values(x.grad());
  y.backward();
  expect_equal(values(x.grad()), values(tensor(once) * 2));
  expect_error([&] { y.backward(); }, "a second time");
}

TEST("gradients of gradients through a checkpoint") {
  const Tensor x = leaf({4});
  const auto second = [&](auto f) {
    const Tensor slope = autograd::grad(sum(f(x)), x, {}, {.create_graph = true})[0];
    return values(autograd::grad(sum(slope * slope), x)[0]);
  };
  expect_near(second(checkpoint(deep)), second(deep), 1e-5);
  expect_near(second(checkpoint(checkpoint(deep))), second(deep), 1e-5);
  const auto compiled = jit([](Tensor t) { return sin(t) * exp(t); });
  expect_near(second(checkpoint(compiled)), second(compiled), 1e-5);
}

TEST("writes in place inside a checkpoint") {
  const auto body = [](Tensor x) {
    Tensor t = x * 2;
    t.mul_(x);  // keeps t as it was
    t(0) = sin(x(1));
    return t * exp(t);
  };
  const Tensor x = randn({3, 4});
  expect_equal(gradient(checkpoint(body), x), gradient(body, x));
}

TEST("a gradient taken inside a checkpointed function") {
  const auto body = [](Tensor x) {
    const Tensor y = exp(sin(x));
    const Tensor slope = autograd::grad(sum(y * y), x, {}, {.retain_graph = true, .create_graph = true})[0];
    return slope * y;
  };
  const Tensor x = randn({4});
  const auto run = [&](auto f) { return gradient([&](Tensor t) { return f(t * 1.5); }, x); };
  expect_near(run(checkpoint(body)), run(body), 1e-6);
}

TEST("without recording a checkpointed function is the function") {
  int runs = 0;
  const auto f = checkpoint([&](Tensor x) {
    ++runs;
    return exp(x);
  });
  const Tensor x = leaf({3});
  {
    const NoGrad no_grad;
    expect(!f(x).requires_grad());
  }
  expect(!f(x.detach()).requires_grad());
  expect_equal(runs, 2);
  const Tensor y = f(x);
  expect_equal(runs, 3);
  sum(y).backward();
  expect_equal(runs, 4);
}

TEST("a recomputation that does something else is an error that names the call") {
  int extra = 0;
  const Tensor x = leaf({3});
  const auto f = checkpoint([&](Tensor t) { return extra++ == 0 ? exp(sin(t)) : exp(t); });
  const Tensor y = f(x);
  expect_error(
      [&] { sum(y).backward(); },
      "checkpoint: a different number of tensors was saved for backward: 2 in the first run, 1 in the recomputation; "
      "the function must do the same each time it runs: its values must not depend on what changes between the call "
      "and backward()\n  at checkpoint_test.cpp:");
  int length = 3;
  const auto g = checkpoint([&](Tensor t) { return sum(exp(t(Slice(0, length--)))); });
  const Tensor z = g(x);
  expect_error([&] { z.backward(); },
               "checkpoint: the tensor saved at position 0 was cpu f32[3] in the first run and is cpu f32[2] in the "
               "recomputation");
}

TEST("arguments that were written since are an error") {
  const Tensor x = leaf({3});
  const Tensor h = x * 2;
  const Tensor y = checkpoint(deep)(h);
  {
    const NoGrad no_grad;
    Tensor written = h;
    written.add_(1);
  }
  expect_error(
      [&] { sum(y).backward(); },
      "a tensor needed for backward was changed in place: cpu f32[3], input 0 of checkpoint(), is at version 1 but "
      "was saved at version 0");
  const Tensor k = x * 2;
  const Tensor z = checkpoint([](Tensor t) { return exp(t.mul_(2)); })(k);
  expect_error([&] { sum(z).backward(); }, "input 0 of checkpoint(), is at version 1");
  const Tensor w = leaf({3});
  const Tensor u = checkpoint([&](Tensor t) { return t * w; })(x);
  {
    const NoGrad no_grad;
    Tensor written = w;
    written.add_(1);
  }
  expect_error([&] { sum(u).backward(); }, "a tensor needed for backward was changed in place: cpu f32[3]");
}

TEST("an exception in a checkpointed function passes through and leaves nothing behind") {
  const Tensor x = leaf({3});
  int runs = 0;
  const auto f = checkpoint([&](Tensor t) {
    const Tensor y = exp(t);
    if (runs++ == 1) throw std::runtime_error("stop");
    return sin(y);
  });
  const Tensor y = f(x);
  expect_error([&] { sum(y).backward({}, {.retain_graph = true}); }, "stop");
  sum(y).backward();
  expect_near(values(x.grad()), values(exp(x) * cos(exp(x))));
  const int64_t before = bytes_in_use();
  const Tensor z = sin(exp(x));  // saves again: no call is active
  expect_greater(bytes_in_use(), before);
}
