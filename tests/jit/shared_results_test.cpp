// Results of a jitted call that share memory with an argument, a captured tensor or one another: what is written after
// the call does the same as in eager mode, to values and to gradients.
#include <functional>
#include <utility>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

std::vector<double> numbers(const Tensor& x) {
  return x.defined() ? x.detach().to(Dtype::f64).contiguous().to_vector<double>() : std::vector<double>{-12345};
}

/// The ways in which a function is compiled.
std::vector<JitOptions> ways() {
  std::vector<JitOptions> out(4);
  out[1].executors = {"eager"};
  out[2].executors = {"fuser", "eager"};
  out[3].cache = Cache::symbolic_values;
  return out;
}

/// The results of `use` with the plain function, and compiled in each way, twice; an error counts by its presence.
template <class F>
void expect_as_eager(
    F f, const std::function<std::vector<double>(std::function<std::vector<Tensor>(std::vector<Tensor>)>)>& use,
    SourceLocation at = SourceLocation::here()) {
  const auto outcome = [&](const auto& function) {
    try {
      return use([&](std::vector<Tensor> arguments) { return function(std::move(arguments)); });
    } catch (const UserError&) {
      return std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9};
    }
  };
  const std::vector<double> eager = outcome(f);
  for (const JitOptions& options : ways()) {
    const auto compiled = jit(f, options);
    for (int call = 0; call < 2; ++call) expect_near(outcome(compiled), eager, 1e-6, at);
  }
}

using Tensors = std::vector<Tensor>;

}  // namespace

TEST("a result that is a view of an argument is written, and the argument has the gradient") {
  const auto use = [](const std::function<Tensors(Tensors)>& f) {
    const Tensor leaf = tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}).requires_grad_();
    const Tensor h = leaf * 1.0;
    const Tensor y = f({h})[0];
    y.mul_(3.0);
    (sum(h * h) + sum(y * 5.0)).backward();
    return numbers(leaf.grad());
  };
  expect_as_eager([](Tensors x) { return Tensors{x[0]}; }, use);
  expect_as_eager([](Tensors x) { return Tensors{x[0].t()}; }, use);
  expect_as_eager([](Tensors x) { return Tensors{x[0].t().view({3, 2})(1)}; }, use);
  expect_as_eager([](Tensors x) { return Tensors{x[0](1)}; }, use);
  expect_as_eager([](Tensors x) { return Tensors{x[0].reshape({-1})}; }, use);
  expect_as_eager([](Tensors x) { return Tensors{x[0].contiguous()}; }, use);
  expect_as_eager([](Tensors x) { return Tensors{x[0].detach()}; }, use);
  expect_as_eager([](Tensors x) { return Tensors{nn::dropout(x[0], 0.1, false)}; }, use);
  expect_as_eager([](Tensors x) { return Tensors{x[0].diagonal()}; }, use);
  expect_as_eager([](Tensors x) { return Tensors{x[0].unsqueeze(0).expand({2, 2, 3})}; }, use);
  expect_as_eager(
      [](Tensors x) {
        const NoGrad no_grad;
        return Tensors{x[0].t()};
      },
      use);
}

TEST("an argument is written after the call, and its view has the gradient") {
  const auto use = [](const std::function<Tensors(Tensors)>& f) {
    const Tensor leaf = tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}).requires_grad_();
    const Tensor h = leaf * 1.0;
    const Tensor y = f({h})[0];
    h.mul_(3.0);
    sum(y * y).backward();
    return numbers(leaf.grad());
  };
  expect_as_eager([](Tensors x) { return Tensors{x[0].view({-1})}; }, use);
  expect_as_eager([](Tensors x) { return Tensors{x[0].unfold(1, 2, 1)}; }, use);
  expect_as_eager([](Tensors x) { return Tensors{x[0](Slice(), Slice(0, {}, 2))}; }, use);
}

TEST("results that share memory with one another are views of one tensor") {
  const auto use = [](const std::function<Tensors(Tensors)>& f) {
    const Tensor w = (arange(12).to(Dtype::f32).reshape({2, 6}) * 0.1).requires_grad_();
    const Tensors parts = f({ones({3, 2}), w});
    std::vector<double> out;
    parts[0].mul_(3.0);
    for (const Tensor& part : parts)
      for (const double number : numbers(part)) out.push_back(number);
    Tensor total = sum(parts[0] * parts[0]);
    for (const Tensor& part : parts) total = total + sum(part * 0.5);
    total.backward();
    for (const double number : numbers(w.grad())) out.push_back(number);
    return out;
  };
  const auto packed = [](const Tensors& x) { return matmul(x[0], x[1]); };
  expect_as_eager(
      [=](Tensors x) {
        const Tensor whole = packed(x);
        Tensors out = chunk(whole, 3, 1);
        out.push_back(whole);
        return out;
      },
      use);
  expect_as_eager([=](Tensors x) { return chunk(packed(x), 3, 1); }, use);  // parts that share nothing
  expect_as_eager(
      [=](Tensors x) {
        const Tensor whole = packed(x);
        return Tensors{whole.view({-1}), whole.t(), whole(1)};  // of a tensor that is not a result
      },
      use);
  expect_as_eager(
      [=](Tensors x) {
        const Tensor whole = packed(x);
        return Tensors{whole(Slice(0, 2)), whole(Slice(1, 3))};
      },
      use);
  expect_as_eager(
      [=](Tensors x) {
        const Tensor whole = packed(x);
        return Tensors{whole, whole.detach(), whole};
      },
      use);
  expect_as_eager(
      [=](Tensors x) {
        const Tensor whole = softmax(packed(x), -1);
        return Tensors{whole.view({-1}), whole};
      },
      use);
}

TEST("results that are tensors of their own stay apart") {
  const auto use = [](const std::function<Tensors(Tensors)>& f) {
    const Tensor x = tensor({{1.0, 2.0}, {3.0, 4.0}}).requires_grad_();
    const Tensor h = x * 1.0;
    const Tensors y = f({h});
    y[0].mul_(3.0);
    std::vector<double> out = numbers(h);
    for (const Tensor& tensor : y)
      for (const double number : numbers(tensor)) out.push_back(number);
    (sum(y[0]) + sum(y.back() * y.back()) + sum(h)).backward();
    for (const double number : numbers(x.grad())) out.push_back(number);
    return out;
  };
  expect_as_eager([](Tensors x) { return Tensors{x[0] * 2.0, x[0] * 2.0}; }, use);
  expect_as_eager([](Tensors x) { return Tensors{(x[0] * 2.0).t(), (x[0] * 2.0).t()}; }, use);
  expect_as_eager([](Tensors x) { return Tensors{x[0].clone(), x[0].clone()}; }, use);
  expect_as_eager(
      [](Tensors x) {
        const Tensor y = empty_like(x[0]), z = x[0] * 2.0;
        y.copy_(z);
        return Tensors{y, z};
      },
      use);
  expect_as_eager(
      [](Tensors x) {
        const Tensor y = empty_like(x[0]);
        y.copy_(x[0]);
        return Tensors{y};
      },
      use);
  expect_as_eager([](Tensors x) { return Tensors{x[0].t().reshape({-1}), x[0].t()}; }, use);
}

TEST("a value that was written through a transposed view is as contiguous as in eager mode") {
  const auto f = [](Tensor x) {
    const Tensor y = x * 2.0;
    y.t().add_(1.0);
    return std::pair(y, y.t());
  };
  for (const JitOptions& options : ways()) {
    const auto [y, turned] = jit(f, options)(tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}));
    expect(y.is_contiguous());
    expect(!turned.is_contiguous());
    y.view({-1}).fill_(7.0);
    expect_near(numbers(turned), {7, 7, 7, 7, 7, 7}, 0);
  }
}

TEST("an argument that is written and returned is itself") {
  for (const JitOptions& options : ways()) {
    const auto scale = jit(
        [](Tensor x) {
          x.mul_(2.0);
          return std::pair(x, x(0));
        },
        options);
    const Tensor a = ones({2});
    const auto [whole, first] = scale(a);
    expect(whole.is_same(a));
    a.add_(100.0);
    expect_near(numbers(first), {102}, 0);

    auto counter = zeros({});
    const auto count = jit(
        [counter](Tensor) {
          counter.add_(1.0);
          return counter;
        },
        options);
    const Tensor one = count(a);
    count(a);
    expect(one.is_same(counter));
    expect_near(numbers(one), {2}, 0);

    const auto same = jit([](Tensor x) { return x; }, options);
    expect(same(a).is_same(a));
  }
}

namespace {
struct Cache2 {
  Tensor keys, values;
};
}  // namespace

TEST("a cache that is returned as part of its structure stays the cache") {
  for (const JitOptions& options : ways()) {
    const auto append = jit(
        [](Cache2 cache, Tensor key, int64_t at) {
          cache.keys(at) = key;
          cache.values(at) = key * 2.0;
          return cache;
        },
        options);
    const Cache2 first{zeros({3}), zeros({3})};
    Cache2 next = append(first, tensor(7.0), 0);
    next = append(next, tensor(8.0), 1);
    expect(next.keys.is_same(first.keys));
    expect(next.values.is_same(first.values));
    expect_near(numbers(first.keys), {7, 8, 0}, 0);
    expect_near(numbers(first.values), {14, 16, 0}, 0);
  }
}

TEST("an argument with a history that is written and returned keeps that history") {
  const auto use = [](const std::function<Tensors(Tensors)>& f) {
    const Tensor leaf = tensor({1.0, 2.0, 3.0}).requires_grad_();
    const Tensor h = leaf * 1.0;
    const Tensors y = f({h});
    y[0].mul_(y[1]);
    (sum(h * h) + sum(y[0] * 2.0)).backward();
    return numbers(leaf.grad());
  };
  expect_as_eager(
      [](Tensors x) {
        x[0].mul_(2.0);
        return Tensors{x[0], x[0] * 1.0};
      },
      use);
  expect_as_eager(
      [](Tensors x) {
        x[0](Slice(0, 2)).mul_(x[0](2));
        return Tensors{x[0].view({3}), x[0].clone()};
      },
      use);
}

TEST("a leaf is not written through a result") {
  for (const JitOptions& options : ways()) {
    const Tensor w = tensor({1.0, 2.0}).requires_grad_();
    const auto itself = jit([](Tensor x) { return nn::dropout(x, 0.1, false); }, options);
    const auto viewed = jit([](Tensor x) { return x.view({2, 1}); }, options);
    expect_error([&] { itself(w).mul_(3.0); }, "a leaf tensor that requires grad is written in place");
    expect_error([&] { viewed(w).mul_(3.0); }, "a view of a leaf that requires grad");
  }
}

TEST("a view whose base was given a history since is an argument with a gradient") {
  const auto use = [](const std::function<Tensors(Tensors)>& f) {
    const Tensor w = tensor({1.0, 2.0}).requires_grad_();
    const Tensor t = zeros({2});
    const Tensor v = t.view({2, 1});
    f({v});
    t.add_(w);
    sum(f({v})[0]).backward();
    return numbers(w.grad());
  };
  expect_as_eager([](Tensors x) { return Tensors{x[0] * 3.0}; }, use);
  expect_as_eager([](Tensors x) { return Tensors{cat({x[0], x[0]}, 0)}; }, use);
}

TEST("results of sizes that are symbols share memory at every size") {
  const auto f = jit(
      [](Tensor x, Int rows) {
        const Tensor y = x * 2.0;
        return std::tuple(y(Slice(0, rows)), y, x(Slice(rows, {})));
      },
      {.cache = Cache::symbolic_values});
  for (int64_t n = 3; n < 7; ++n) {
    const Tensor leaf = ones({n, 2}).requires_grad_();
    const Tensor x = leaf * 1.0;
    const auto [head, whole, tail] = f(x, n - 2);
    head.mul_(5.0);
    tail.zero_();
    (sum(whole) + sum(x)).backward();
    std::vector<double> expected;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t k = 0; k < 2; ++k) expected.push_back((i < n - 2 ? 10 : 2) + (i < n - 2 ? 1 : 0));
    expect_near(numbers(leaf.grad()), expected, 0);
  }
}
