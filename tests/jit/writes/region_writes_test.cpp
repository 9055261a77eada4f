// Traced functions: writes through windows, expanded tensors and arguments that share memory and have a history; what
// the caller may overwrite after the call.
#include <functional>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

std::vector<double> numbers(const Tensor& x) { return x.detach().to(Dtype::f64).contiguous().to_vector<double>(); }

using Function = std::function<Tensor(Tensor)>;

void expect_as_eager(const Function& f, SourceLocation at = SourceLocation::here()) {
  const auto run = [&](const Function& g) {
    const Tensor leaf = (arange(12).to(Dtype::f64) * 0.5 - 2).requires_grad_();
    const Tensor x = leaf * 1.0;
    const Tensor y = g(x);
    sum(y * y + x.sum()).backward();
    std::vector<double> out = numbers(y), after = numbers(x), gradient = numbers(leaf.grad());
    out.insert(out.end(), after.begin(), after.end());
    out.insert(out.end(), gradient.begin(), gradient.end());
    return out;
  };
  const std::vector<double> eager = run(f);
  for (const Cache cache : {Cache::constant_values, Cache::symbolic_values}) {
    const auto compiled = jit(f, {.cache = cache});
    for (int call = 0; call < 2; ++call) expect_near(run(compiled), eager, 1e-12, at);
  }
}

struct Counts {
  static Tensor forward(autograd::Context&, Tensor x, Tensor counter) {
    counter.add_(1.0);
    return x * counter;
  }
  static std::vector<Tensor> backward(autograd::Context&, Tensor gradient) { return {gradient * 2.0, {}}; }
};

}  // namespace

TEST("windows that do not overlap are written") {
  expect_as_eager([](Tensor x) {
    Tensor t = x * 2.0;
    t.unfold(0, 3, 3).abs_();
    t.view({3, 4}).unfold(1, 2, 2)(Slice(), 0).mul_(3.0);
    return t;
  });
  expect_as_eager([](Tensor x) {
    x.unfold(0, 2, 4).mul_(x.unfold(0, 2, 4) * 2.0);
    return x * 1.0;
  });
}

TEST("one row of an expanded tensor is written") {
  expect_as_eager([](Tensor x) {
    const Tensor t = x * 2.0;
    const Tensor rows = t.view({3, 4}).unsqueeze(0).expand({2, 3, 4});
    rows(0).mul_(3.0);
    rows(1, 2).fill_(7.0);
    return rows.sum(0).view({-1});
  });
  expect_as_eager([](Tensor x) {
    const NoGrad no_grad;
    x.unsqueeze(0).expand({3, 12})(1, Slice(2, 5)).fill_(1.0);
    return x;
  });
}

TEST("overlapping memory is refused where it is written, and as an argument") {
  const auto windows = jit([](Tensor x) {
    Tensor t = x * 1.0;
    t.unfold(0, 2, 1).mul_(2.0);
    return t;
  });
  expect_error([&] { windows(ones({3})); }, "writes through unfold() inside a traced function are not supported");
  const auto write = jit([](Tensor x) { x.add_(1.0); });
  const Tensor whole = zeros({3});
  write(whole);
  expect_error(
      [&] {
        write(whole.unsqueeze(0).expand({2, 3}));
      },
      "a jitted function writes in place into an argument or a captured tensor, cpu f32[2, 3]: more than one element "
      "of the tensor that is written refers to a single place in memory");
  expect_error([&] { write(whole.unfold(0, 2, 1)); }, "more than one element");
  expect_near(numbers(whole), {1, 1, 1}, 0);
}

TEST("arguments that share memory and have a history are written as one") {
  using Two = std::function<Tensor(Tensor, Tensor)>;
  const auto run = [](const Two& f, const std::function<Tensor(Tensor)>& view) {
    const Tensor x = tensor({1.0, 2.0, 3.0, 4.0}).requires_grad_();
    const Tensor whole = x * 1.0, part = view(whole);
    const Tensor y = f(part, whole);
    (y + sum(part * part) + sum(whole)).backward();
    std::vector<double> out = numbers(whole), gradient = numbers(x.grad());
    out.insert(out.end(), gradient.begin(), gradient.end());
    return out;
  };
  const std::vector<Two> functions = {
      [](Tensor p, Tensor w) {
        p.mul_(3.0);
        return sum(w);
      },
      [](Tensor p, Tensor w) {
        w.mul_(w);
        return sum(p * 2.0);
      },
      [](Tensor p, Tensor w) {
        w.add_(1.0);
        p.mul_(p);
        return sum(w * w);
      },
  };
  for (const Two& f : functions) {
    const auto compiled = jit(f);
    for (const auto& view : std::vector<std::function<Tensor(Tensor)>>{[](Tensor w) { return w(Slice(0, {}, 2)); },
                                                                       [](Tensor w) {
                                                                         return w.view({2, 2}).t();
                                                                       },
                                                                       [](Tensor w) { return w(2); }})
      for (int call = 0; call < 2; ++call) expect_near(run(compiled, view), run(f, view), 1e-6);
  }
  // Shared memory without a shared history is another matter.
  const Tensor x = tensor({1.0, 2.0}).requires_grad_();
  const Tensor whole = x * 1.0;
  expect_error([&] { jit(functions[0])(whole.detach(), whole); }, "shares memory with");
}

TEST("a custom function writes a buffer that it does not return") {
  for (const bool has_gradient : {false, true}) {
    const auto f = jit([](Tensor x, Tensor counter) { return autograd::apply<Counts>(x, counter) + counter; });
    const Tensor x = tensor({3.0}).requires_grad_(has_gradient), counter = zeros({1});
    f(x, counter);
    const Tensor y = f(x, counter);
    expect_near(numbers(counter), {2}, 0);
    expect_near(numbers(y), {8}, 0);
    if (has_gradient) {
      y.backward(ones({1}));
      expect_near(numbers(x.grad()), {2}, 0);
    }
  }
}

TEST("arguments that eager mode keeps nothing of may be overwritten before the backward, whatever their size") {
  const auto check = [](const std::function<Tensor(Tensor, Tensor)>& f) {
    for (const int64_t n : {4, 200}) {
      const auto gradient = [&](const std::function<Tensor(Tensor, Tensor)>& g) {
        const Tensor x = full({n, n}, 0.5).requires_grad_();
        const Tensor h = x * 2.0, state = full({n, n}, 0.25);
        const Tensor y = g(h, state);
        {
          const NoGrad no_grad;
          h.fill_(-100.0);
          state.fill_(-100.0);
        }
        sum(y).backward();
        return numbers(x.grad()(0));
      };
      expect_near(gradient(jit(f)), gradient(f), 1e-6);
    }
  };
  check([](Tensor x, Tensor state) { return relu(x + state) * 3.0; });
  check([](Tensor x, Tensor state) { return sin((x - state).t()) + exp(x * 2.0 + 1.0); });
  check([](Tensor x, Tensor state) { return nn::gelu(cat({x, state}, 0)); });
  check([](Tensor x, Tensor state) { return softmax(x + state, -1) * tanh(x * 0.5); });
}

TEST("results that eager mode keeps nothing of may be overwritten before the backward") {
  const auto f = [](Tensor x) {
    const Tensor sum_of = x + 1.0;
    return std::pair(sum_of, sin(sum_of * 2.0));
  };
  for (const int64_t n : {4, 200}) {
    const auto gradient = [&](const auto& g) {
      const Tensor x = full({n, n}, 0.5).requires_grad_();
      const auto [first, second] = g(x);
      first.zero_();
      sum(second).backward();
      return numbers(x.grad()(0));
    };
    expect_near(gradient(jit(f)), gradient(f), 1e-6);
  }
}

// The inner sine is saved for the gradient of b: it may not have the memory of the result that equals it.
TEST("a result may be overwritten where the backward reads an equal inner value") {
  const auto body = [](Tensor a, Tensor b) -> std::vector<Tensor> {
    const Tensor result = sin(a);
    const Tensor inner = sin(a);
    return {result, inner * b};
  };
  const auto view = [](Tensor a, Tensor b) -> std::vector<Tensor> {
    const Tensor whole = sin(a);
    const Tensor inner = sin(a);
    return {whole.unsqueeze(0), inner * b};
  };
  const auto gradient = [](const auto& f) {
    const Tensor a = tensor({0.5, 1.0}).requires_grad_(), b = tensor({2.0, 3.0}).requires_grad_();
    std::vector<Tensor> results = f(a, b);
    results[0].add_(1);
    sum(results[1]).backward();
    return b.grad().to_vector<float>();
  };
  expect_equal(gradient(jit(body)), gradient(body));
  expect_equal(gradient(jit(view)), gradient(view));
  expect_equal(gradient(jit(body, {.executors = {"fuser"}})), gradient(body));
  expect_equal(gradient(jit([&](Tensor a, Tensor b) {
                 std::vector<Tensor> results = body(a, b);
                 graph_break();
                 results[0].add_(0.5);
                 return results;
               })),
               gradient(body));
}
