// Guards of a cache entry: when any of them fails, the function is recompiled and agrees with eager mode.
#include <string>

#include <fulgurite/fulgurite.h>

#include "ops/core/dispatch.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

/// The reason of the newest compile.
std::string newest_reason(const Jitted& f) {
  const std::string text = explain(f);
  const size_t at = text.rfind("  why: ") + 7;
  return text.substr(at, text.find('\n', at) - at);
}

struct Network {
  Tensor weight = ones({3});
  double rate = 0.5;
  bool training = true;
  Tensor operator()(Tensor x) const { return training ? x * weight * rate : x * weight; }
};

}  // namespace

TEST("gradients on or off") {
  const auto f = jit([](Tensor x) { return x * (grad_enabled() ? 2 : 3); });
  const Tensor x = ones({2});
  expect_near(f(x).to_vector<float>(), {2, 2});
  {
    const NoGrad no_grad;
    expect_near(f(x).to_vector<float>(), {3, 3});
  }
  expect_near(f(x).to_vector<float>(), {2, 2});
  expect_equal(cache_misses(f), 2);
}

TEST("the default dtype") {
  const auto f = jit([](Tensor x) { return x.to(Dtype::f64) + zeros({2}); });
  const auto g = jit([] { return ones({2}); });
  const Tensor x = ones({2});
  expect_equal(g().dtype() == Dtype::f32, true);
  f(x);
  set_default_dtype(Dtype::f64);
  const Dtype found = g().dtype();
  f(x);
  set_default_dtype(Dtype::f32);
  expect_equal(found, Dtype::f64);
  expect_equal(cache_misses(f), 2);
}

TEST("flags, numbers and texts of a model, and its tensors") {
  Network network;
  const auto f = jit(std::ref(network));
  const Tensor x = ones({3});
  expect_near(f(x).to_vector<float>(), {0.5, 0.5, 0.5});
  nn::eval(network);
  expect_near(f(x).to_vector<float>(), {1, 1, 1});
  nn::train(network);
  network.rate = 2;
  expect_near(f(x).to_vector<float>(), {2, 2, 2});
  network.weight = full({1}, 3.0);
  expect_near(f(x).to_vector<float>(), {6, 6, 6});
  network.weight = full({1}, 4.0);
  expect_near(f(x).to_vector<float>(), {8, 8, 8});
  expect_equal(cache_misses(f), 4);
  expect_equal(cache_hits(f), 1);
}

TEST("texts among the arguments, long ones and empty ones too") {
  const auto f = jit([](Tensor x, std::string mode) {
    return x * static_cast<double>(mode.size()) + (mode.ends_with("b") ? 100 : 0);
  });
  const Tensor x = ones({1});
  const std::string many(100, 'a');
  for (const std::string& mode : {std::string(), std::string("a"), std::string("b"), many, many.substr(1) + "b"})
    for (int call = 0; call < 2; ++call)
      expect_near(f(x, mode).to_vector<float>()[0], static_cast<double>(mode.size()) + (mode.ends_with("b") ? 100 : 0));
  expect_equal(cache_misses(f), 5);
}

TEST("strides, where the function asks for them") {
  const auto f =
      jit([](Tensor x) { return x.is_contiguous() ? x * 1 : x * static_cast<double>(x.strides()[0].hint() + 10); });
  const Tensor rows = arange(6, {.dtype = Dtype::f32}).reshape({3, 2}),
               columns = arange(6, {.dtype = Dtype::f32}).reshape({2, 3}).t();
  const auto first = [&](const Tensor& x) { return f(x).contiguous().to_vector<float>()[1]; };
  expect_near(first(rows), 1);
  expect_near(first(columns), 33);
  expect_near(first(rows), 1);
  expect_near(first(columns), 33);
  expect_equal(cache_misses(f), 2);
  expect_text(newest_reason(f), "t_0: strides (1, 3) instead of (2, 1)");
  expect_trace(last_prologue_traces(f).front(), R"(
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

Tensor prologue(Tensor t_0, std::vector<Tensor> modes) {
  // t_0: "cpu f32[3, 2]"
  // modes: "Collection"
  prims::check_tensor(t_0, {3, 2}, "cpu", Dtype::f32, false);
  prims::check_strides(t_0, {1, 3});
  auto grad_enabled = prims::unpack_field(modes, "grad_enabled");  // grad_enabled: "bool True"
  prims::check_number(grad_enabled, true);
  auto default_dtype = prims::unpack_field(modes, "default_dtype");
  prims::check_literal(default_dtype, Dtype::f32);
  auto autocast = prims::unpack_field(modes, "autocast");
  prims::check_literal(autocast, {});
  return t_0;
}
)");

  const auto ignores = jit([](Tensor x) { return x * 2; });
  ignores(rows);
  ignores(columns);
  expect_equal(cache_misses(ignores), 1);
}

TEST("strides of views of arguments, of captured tensors and of values") {
  const Tensor captured = ones({2, 3});
  const auto f = jit([captured](Tensor x) {
    const Tensor turned = x.t(), made = (x * 2).t(), own = x + 1;
    const Int sum =
        turned.strides()[0] * 1000 + made.strides()[0] * 100 + own.strides()[0] * 10 + captured.strides()[0];
    return x * static_cast<double>(sum.hint());
  });
  expect_near(f(ones({2, 3}))(0, 0).item<double>(), 1 * 1000 + 1 * 100 + 3 * 10 + 3);
  expect_near(f(ones({3, 2}).t())(0, 0).item<double>(), 2 * 1000 + 1 * 100 + 3 * 10 + 3);
  captured.set_data(ones({3, 2}).t());
  expect_near(f(ones({2, 3}))(0, 0).item<double>(), 1 * 1000 + 1 * 100 + 3 * 10 + 1);
  expect_equal(cache_misses(f), 3);
}

TEST("strides inside gradients and with symbols") {
  const auto loss = [](Tensor x) { return sum(x * x) * (x.is_contiguous() ? 1 : 2); };
  const auto g = jit(grad(loss));
  const Tensor rows = ones({2, 3}), columns = ones({3, 2}).t();
  expect_near(g(rows)(0, 0).item<double>(), 2);
  expect_near(g(columns)(0, 0).item<double>(), 4);
  expect_near(grad(loss)(columns)(0, 0).item<double>(), 4);
  expect_equal(cache_misses(g), 2);
  const auto f = jit(loss, {.cache = Cache::symbolic_values});
  expect_near(f(rows).item<double>(), 6);
  expect_near(f(columns).item<double>(), 12);
  expect_near(f(ones({4, 3}).t()).item<double>(), 24);
  expect_near(f(rows).item<double>(), 6);
}

TEST("facts of captured tensors") {
  Tensor w = ones({2});
  const auto f = jit([&](Tensor x) { return x * w; });
  const Tensor x = ones({2});
  f(x);
  w.requires_grad_();
  expect(f(x).requires_grad());
  w.requires_grad_(false);
  expect(!f(x).requires_grad());
  expect_equal(cache_misses(f), 2);
  w.set_data(ones({2}, {.dtype = Dtype::f64}));
  expect_equal(f(x).dtype(), Dtype::f64);
  w.set_data(ones({3, 2}));
  expect_equal(f(x).shape(), Shape({3, 2}));
  expect_equal(cache_misses(f), 4);
}

TEST("an argument that shares memory with a captured tensor, where the function writes") {
  const Tensor w = zeros({3});
  const auto body = [w](Tensor x) {
    x.add_(1);
    return w * 10;
  };
  const auto f = jit(body);
  expect_near(f(zeros({3})).to_vector<float>(), {0, 0, 0});
  expect_near(f(w).to_vector<float>(), {10, 10, 10});
  expect_near(f(zeros({3})).to_vector<float>(), {10, 10, 10});
  expect_equal(cache_misses(f), 2);
  const Tensor view = w.view({3});
  expect_error([&] { f(view); }, "shares memory with");
  const auto reads = jit([w](Tensor x) { return x + w; });
  reads(zeros({3}));
  reads(view);
  expect_equal(cache_misses(reads), 1);
}

TEST("an argument that is a captured tensor") {
  for (const Cache cache : {Cache::constant_values, Cache::symbolic_values}) {
    const Tensor w = full({3}, 2.0);
    const auto f = jit([w](Tensor x) { return x * w; }, {.cache = cache});
    expect_near(f(w).to_vector<float>(), {4, 4, 4});
    expect_near(f(full({3}, 5.0)).to_vector<float>(), {10, 10, 10});
    expect_near(f(w).to_vector<float>(), {4, 4, 4});
    expect_near(f(full({3}, 7.0)).to_vector<float>(), {14, 14, 14});
    expect_equal(cache_misses(f), 2);
  }
}

TEST("a guard for leaves among written arguments") {
  const auto f = jit([](Tensor x) { x.mul_(2); });
  const Tensor leaf = ones({2}).requires_grad_();
  const Tensor value = leaf * 1;
  f(value);
  sum(value).backward();
  expect_near(leaf.grad().to_vector<float>(), {2, 2});
  expect_error([&] { f(leaf); }, "leaf");
  expect_near(leaf.to_vector<float>(), {1, 1});
}

TEST("the same facts guard subgraphs") {
  const auto f = jit([](Tensor x) {
    const Tensor y = x * 2;
    graph_break();
    return x.is_contiguous() ? y + 1 : y + 2;
  });
  expect_near(f(ones({2, 3}))(0, 0).item<double>(), 3);
  expect_near(f(ones({3, 2}).t())(0, 0).item<double>(), 4);
  {
    const NoGrad no_grad;
    expect(!f(ones({2, 3}).requires_grad_()).requires_grad());
  }
  expect(f(ones({2, 3}).requires_grad_()).requires_grad());
}
