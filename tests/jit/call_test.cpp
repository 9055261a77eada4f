#include <fulgurite/error.h>
#include <fulgurite/fulgurite.h>

#include "support/test.h"

namespace fulgurite {

namespace {

Tensor scaled_sum(Tensor x, double scale, std::string_view mode) {
  const Tensor y = x * scale;
  return mode == "mean" ? mean(y) : sum(y);
}

}  // namespace

TEST("a jitted function gives what the function gives") {
  const Tensor x = tensor({{1.0, 2.0}, {3.0, 4.0}}), w = tensor({{1.0, 0.5}, {-1.0, 2.0}});
  const auto function = [](Tensor a, Tensor b) { return tanh(matmul(a, b)) + a; };
  const auto f = jit(function);
  expect_near(f(x, w).to_vector<float>(), function(x, w).to_vector<float>());
  expect_near(f(w, x).to_vector<float>(), function(w, x).to_vector<float>());
  expect_equal(cache_misses(f), 1);
  expect_equal(cache_hits(f), 1);
}

TEST("numbers and strings convert at the call and are constants of a compiled version") {
  const auto f = jit(scaled_sum);
  const Tensor x = tensor({1.0, 2.0, 3.0});
  expect_near(f(x, 2, "sum").item<double>(), 12);
  expect_near(f(x, 2.0, "sum").item<double>(), 12);
  expect_near(f(x, 3, "sum").item<double>(), 18);
  expect_near(f(x, 3, "mean").item<double>(), 6);
  expect_equal(cache_misses(f), 3);
  expect_equal(cache_hits(f), 1);
}

TEST("a new size, dtype or requires_grad compiles again, an old one does not") {
  const auto f = jit([](Tensor x) { return x * 2; });
  f(ones({2}));
  f(ones({3}));
  f(ones({2}));
  f(ones({2}, {.dtype = Dtype::f64}));
  f(ones({2}).requires_grad_());
  f(ones({3}));
  expect_equal(cache_misses(f), 4);
  expect_equal(cache_hits(f), 2);
}

TEST("the body runs once for each compile") {
  int runs = 0;
  const auto f = jit([&](Tensor x) {
    ++runs;
    return x + 1;
  });
  for (int i = 0; i < 3; ++i) f(ones({2}));
  expect_equal(runs, 1);
  f(ones({3}));
  expect_equal(runs, 2);
}

TEST("without caching every call compiles") {
  const auto f = jit([](Tensor x) { return x + 1; }, {.cache = Cache::no_caching});
  f(ones({2}));
  f(ones({2}));
  expect_equal(cache_misses(f), 2);
  expect_equal(last_traces(f).empty(), false);
}

TEST("captured tensors are inputs: in-place updates are seen, and another size compiles again") {
  Tensor w = tensor({1.0, 2.0});
  const auto f = jit([&](Tensor x) { return x * w; });
  const Tensor x = tensor({3.0, 4.0});
  expect_near(f(x).to_vector<float>(), {3, 8});
  w.mul_(10);
  expect_near(f(x).to_vector<float>(), {30, 80});
  expect_equal(cache_misses(f), 1);
  w.set_data(tensor({{1.0, 1.0}, {2.0, 2.0}}));
  expect_near(f(x).to_vector<float>(), {3, 4, 6, 8});
  expect_equal(cache_misses(f), 2);
}

TEST("a tensor given twice is one input, and the version for it is not used for two tensors") {
  const auto f = jit([](Tensor x, Tensor y) { return x - y; });
  const Tensor a = tensor({1.0, 2.0}), b = tensor({0.5, 0.5});
  expect_near(f(a, a).to_vector<float>(), {0, 0});
  expect_near(f(a, b).to_vector<float>(), {0.5, 1.5});
  expect_near(f(b, b).to_vector<float>(), {0, 0});
  expect_equal(cache_misses(f), 2);
}

TEST("writes into arguments happen at every call") {
  const auto f = jit([](Tensor x) { x.add_(1); });
  const Tensor x = zeros({2});
  f(x);
  f(x);
  expect_near(x.to_vector<float>(), {2, 2});
}

TEST("a write into an argument is refused where another shares a part of its memory and neither holds the other") {
  const auto f = jit([](Tensor x, Tensor y) {
    x.add_(1);
    return x + y;
  });
  const Tensor base = zeros({3});
  expect_error([&] { f(base(Slice(0, 2)), base(Slice(1, 3))); }, "shares memory");
}

TEST("an exception while tracing leaves nothing behind") {
  bool fails = true;
  const auto f = jit([&](Tensor x) {
    Tensor y = x + 1;
    if (fails) throw std::runtime_error("not today");
    return y;
  });
  expect_error([&] { f(ones({2})); }, "not today");
  expect_near((ones({2}) + 1).to_vector<float>(), {2, 2});
  fails = false;
  expect_near(f(ones({2})).to_vector<float>(), {2, 2});
  expect_equal(cache_misses(f), 2);
}

TEST("a jitted function inside another becomes part of it") {
  const auto inner = jit([](Tensor x) { return exp(x); });
  const auto outer = jit([=](Tensor x) { return inner(x) * 2; });
  expect_near(outer(zeros({2})).to_vector<float>(), {2, 2});
  expect_equal(cache_misses(inner), 0);
  const std::vector<Trace> traces = last_traces(outer);
  expect_equal(traces.front().bound_symbols.size(), 3u);
}

TEST("copies share what was compiled; functions with overloads and auto parameters work") {
  struct Overloaded {
    Tensor operator()(Tensor x) const { return x + 1; }
    Tensor operator()(Tensor x, Tensor y) const { return x + y; }
  };
  const auto f = jit(Overloaded());
  expect_near(f(zeros({1})).to_vector<float>(), {1});
  expect_near(f(ones({1}), ones({1})).to_vector<float>(), {2});
  const auto g = jit([](auto x, auto n) { return x * n; });
  const auto h = g;
  expect_near(g(ones({1}), 3).to_vector<float>(), {3});
  expect_near(h(ones({1}), 3).to_vector<float>(), {3});
  expect_near(h(ones({1}), 0.5).to_vector<float>(), {0.5});
  expect_equal(cache_misses(h), 2);
  const std::function<Tensor(Tensor)> erased = jit([](Tensor x) { return -x; });
  expect_near(erased(ones({1})).to_vector<float>(), {-1});
}

TEST("operators themselves can be jitted") {
  const auto f = jit(fulgurite::tanh);
  expect_near(f(zeros({2})).to_vector<float>(), {0, 0});
  const auto g = jit(fulgurite::maximum);
  expect_near(g(zeros({2}), ones({2})).to_vector<float>(), {1, 1});
}

TEST("backward goes through a jitted function") {
  const auto f = jit([](Tensor x, Tensor w) { return sum(tanh(x * w)); });
  const Tensor x = tensor({0.1, 0.2}), w = tensor({1.0, -2.0}).requires_grad_();
  const Tensor v = w.detach().clone().requires_grad_();
  f(x, w).backward();
  sum(tanh(x * v)).backward();
  expect_near(w.grad().to_vector<float>(), v.grad().to_vector<float>());
  expect(!x.grad().defined());
  expect_greater(last_backward_traces(f).size(), 0);
  {
    const NoGrad no_grad;
    expect(!f(x, w).requires_grad());
  }
  expect_equal(cache_misses(f), 2);
}

TEST("a result that is an input or appears twice carries its gradient") {
  const auto f = jit([](Tensor x) {
    const Tensor y = x * 3;
    return std::tuple(x, y, y);
  });
  const Tensor x = ones({2}).requires_grad_();
  const auto [a, b, c] = f(x);
  sum(a + b + c).backward();
  expect_near(x.grad().to_vector<float>(), {7, 7});
}

TEST("a Shape is an argument: its length and its sizes are part of the key, or symbols") {
  const auto view = jit([](Tensor x, Shape sizes) { return x.reshape(sizes) * 2; });
  const Tensor x = arange(6.0);
  expect_equal(view(x, {3, 2}).shape(), Shape{3, 2});
  expect_equal(view(x, {2, 3}).shape(), Shape{2, 3});
  expect_equal(view(x, {1, 2, 3}).shape(), Shape{1, 2, 3});
  expect_equal(view(x, {3, 2}).shape(), Shape{3, 2});
  expect_equal(cache_misses(view), 3);
  const auto symbolic = jit([](Tensor y, Dims sizes) { return y.reshape(sizes); }, {.cache = Cache::symbolic_values});
  expect_equal(symbolic(x, {3, 2}).shape(), Shape{3, 2});
  expect_equal(symbolic(x, {2, 3}).shape(), Shape{2, 3});
}

}  // namespace fulgurite
