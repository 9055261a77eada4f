// Graph breaks: a traced function reads elements, and runs as subgraphs.
#include <sstream>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

std::vector<double> numbers(const Tensor& x) { return x.detach().to(Dtype::f64).contiguous().to_vector<double>(); }

/// The function's traces as recorded, one for each subgraph.
size_t count_subgraphs(const Jitted& f) {
  size_t subgraphs = 0;
  for (const Trace& stage : last_traces(f)) subgraphs += stage.provenance.empty();
  return subgraphs;
}

}  // namespace

TEST("item() breaks a function in two, and its body runs at every call") {
  int runs = 0;
  const auto f = jit([&runs](Tensor x) {
    ++runs;
    const Tensor doubled = x * 2;
    const auto total = sum(doubled).item<double>();
    return doubled + total;
  });
  expect_near(f(tensor({1.0, 2.0})).to_vector<float>(), {8, 10});
  expect_near(f(tensor({3.0, 4.0})).to_vector<float>(), {20, 22});
  expect_equal(runs, 2);
  expect_equal(cache_misses(f), int64_t{1});
  expect_equal(cache_hits(f), int64_t{1});
  expect_equal(count_subgraphs(f), size_t{2});
  expect_text(explain(f).substr(explain(f).find("  graph breaks")), R"(
  graph breaks: the body runs at every call and calls compiled subgraphs
    item() needs the value of cpu f32[] at breaks_test.cpp:29
)");
}

TEST("a branch on a tensor chooses the next subgraph, and subgraphs are compiled once each") {
  const auto f = jit([](Tensor x) {
    const Tensor y = x * 3;
    if (sum(y) > 0) return y + 1;
    return y - 1;
  });
  counters().clear();
  const Tensor up = tensor({1.0, 2.0}), down = tensor({-1.0, -2.0});
  for (int i = 0; i < 2; ++i) {
    expect_near(f(up).to_vector<float>(), {4, 7});
    expect_near(f(down).to_vector<float>(), {-4, -7});
  }
  expect_equal(cache_misses(f), int64_t{1});
  expect_equal(counters()["unique_graphs"], int64_t{3});
}

TEST("a function with two breaks is three subgraphs, forward and backward") {
  const auto f = jit([](Tensor x) {
    Tensor temporary = x + 10;
    graph_break();
    temporary = temporary + 10;
    graph_break();
    return sum(temporary * temporary);
  });
  const Tensor x = ones({3}).requires_grad_();
  counters().clear();
  const Tensor loss = f(x);
  expect_equal(counters()["unique_graphs"], int64_t{3});
  expect_equal(count_subgraphs(f), size_t{3});
  loss.backward();
  expect_near(x.grad().to_vector<float>(), {42, 42, 42});
  size_t backward = 0;
  for (const Trace& stage : last_backward_traces(f)) backward += stage.provenance == "Backward";
  expect_equal(backward, size_t{3});
  const auto whole = jit(
      [](Tensor t) {
        graph_break();
        return t * 2;
      },
      {.fullgraph = true});
  expect_error([&] { whole(x); },
               "graph_break() inside a traced function: a graph break, which cannot be made with fullgraph = true");
  expect_error([&] { whole(x); }, "breaks_test.cpp:");
}

TEST("gradients go through subgraphs, of captured tensors too") {
  const Tensor w = tensor({0.5, -1.5}).requires_grad_(), reference = tensor({0.5, -1.5}).requires_grad_();
  const auto body = [](const Tensor& weight, const Tensor& x) {
    Tensor y = tanh(x * weight);
    if (y.sum() > 100) y = y * 0;
    const auto scale = y(0).item<double>();
    return sum(y * weight) * scale;
  };
  const auto f = jit([w, body](Tensor x) { return body(w, x); });
  const Tensor x = tensor({1.0, 2.0}).requires_grad_(), other = tensor({1.0, 2.0}).requires_grad_();
  for (int i = 0; i < 2; ++i) {
    const Tensor compiled = f(x), eager = body(reference, other);
    expect_near(compiled.item<double>(), eager.item<double>());
    compiled.backward();
    eager.backward();
  }
  expect_near(numbers(w.grad()), numbers(reference.grad()));
  expect_near(numbers(x.grad()), numbers(other.grad()));
}

TEST("writes before a break have happened when it ends, and views keep sharing memory across it") {
  const auto body = [](Tensor buffer, Tensor x) {
    const Tensor row = buffer(0);
    Tensor y = x * 2;
    const Tensor part = y(Slice(0, 2)), other = y(Slice(1, 3));
    buffer.add_(1);
    const auto seen = row.sum().item<double>();
    row.mul_(2);
    part.add_(seen);
    graph_break();
    other.mul_(10);
    Tensor copied = y.clone();
    copied.zero_();
    return std::tuple(y, part, other + copied(0), buffer * 1, row);
  };
  const auto f = jit(body);
  for (int i = 0; i < 2; ++i) {
    const Tensor x = tensor({1.0, 2.0, 3.0}), buffer = ones({2, 3}), expected_buffer = ones({2, 3});
    const auto compiled = f(buffer, x);
    const auto eager = body(expected_buffer, x);
    expect_equal(numbers(buffer), numbers(expected_buffer));
    expect_equal(numbers(std::get<0>(compiled)), numbers(std::get<0>(eager)));
    expect_equal(numbers(std::get<1>(compiled)), numbers(std::get<1>(eager)));
    expect_equal(numbers(std::get<2>(compiled)), numbers(std::get<2>(eager)));
    expect_equal(numbers(std::get<3>(compiled)), numbers(std::get<3>(eager)));
    expect_equal(numbers(std::get<4>(compiled)), numbers(std::get<4>(eager)));
  }
}

TEST("a copied value and its source are two tensors after a break") {
  const auto f = jit([](Tensor x) {
    Tensor a = x * 1, b = zeros({2});
    b.copy_(a);
    graph_break();
    b.add_(1);
    return std::tuple(a, b);
  });
  const auto [a, b] = f(tensor({1.0, 2.0}));
  expect_near(a.to_vector<float>(), {1, 2});
  expect_near(b.to_vector<float>(), {2, 3});
}

TEST("a buffer that was written with a gradient carries it into the next subgraph and out of the function") {
  const auto body = [](Tensor buffer, Tensor w) {
    buffer.copy_(w * 3);
    const auto first = buffer(0).item<double>();
    return sum(buffer * buffer) * first;
  };
  const auto f = jit(body);
  const Tensor w = tensor({1.0, 2.0}).requires_grad_(), v = tensor({1.0, 2.0}).requires_grad_();
  const Tensor buffer = zeros({2}), expected = zeros({2});
  const Tensor compiled = f(buffer, w) + sum(buffer), eager = body(expected, v) + sum(expected);
  compiled.backward();
  eager.backward();
  expect_near(numbers(w.grad()), numbers(v.grad()));
  // Without a break too.
  const auto whole = jit([](Tensor b, Tensor x) { b.mul_(x); });
  const Tensor u = tensor({1.0, 2.0}).requires_grad_(), kept = ones({2}) * 4;
  whole(kept, u);
  sum(kept * kept).backward();
  expect_near(numbers(u.grad()), {32, 64});
}

TEST("random draws keep their order over breaks") {
  const auto body = [](Tensor x) {
    Tensor a = rand_like(x);
    if (a.sum() > 1e9) return a;
    return a + rand_like(x) * x;
  };
  const auto f = jit(body, {.executors = {"eager"}});
  const Tensor x = ones({5});
  manual_seed(3);
  const Tensor eager = body(x), second = body(x);
  manual_seed(3);
  expect_equal(f(x).to_vector<float>(), eager.to_vector<float>());
  expect_equal(f(x).to_vector<float>(), second.to_vector<float>());
}

TEST("printing, loops on values and nested jitted functions break too") {
  std::ostringstream out;
  const auto inner = jit([](Tensor x) { return x.item<double>() > 1 ? x / 2 : x; });
  const auto f = jit([&](Tensor x) {
    out << x * 2 << '\n';
    while (bool(x > 1)) x = inner(x);
    return x;
  });
  expect_near(f(tensor(8.0)).item<double>(), 1);
  expect_text(out.str(), "tensor(16.)\n");
}

TEST("backward() inside a traced function: the engine runs between two subgraphs") {
  const Tensor w = tensor({1.0, 2.0}).requires_grad_();
  const auto step = jit([w](Tensor x) {
    const Tensor loss = sum(square(w * x));
    loss.backward();
    const NoGrad no_grad;
    w.sub_(w.grad() * 0.1);
    w.set_grad({});
    return loss.detach();
  });
  const Tensor x = tensor({1.0, 1.0});
  expect_near(step(x).item<double>(), 5);
  expect_near(w.to_vector<float>(), {0.8, 1.6});
  expect_near(step(x).item<double>(), 3.2, 1e-5);
  expect_near(w.to_vector<float>(), {0.64, 1.28});
  const auto slopes = jit([](Tensor t, Tensor v) { return autograd::grad(sum(t * t * v), t)[0] + v; });
  const Tensor t = tensor({1.0, 2.0}).requires_grad_();
  expect_near(slopes(t, tensor({3.0, 4.0})).to_vector<float>(), {9, 20});
}

TEST("operators whose result's size depends on elements break the graph") {
  const auto positive = jit([](Tensor x) {
    const Tensor y = x * 2;
    return y(y > 0) + 1;
  });
  const Tensor x = tensor({1.0, -1.0, 2.0}).requires_grad_();
  const Tensor chosen = positive(x);
  expect_near(chosen.to_vector<float>(), {3, 5});
  sum(chosen * chosen).backward();
  expect_near(x.grad().to_vector<float>(), {12, 0, 20});
  expect_near(positive(tensor({-1.0, -1.0, 4.0})).to_vector<float>(), {9});
  const auto classes = jit([](Tensor labels) { return nn::one_hot(labels + 1) * 2; });
  expect_equal(classes(tensor({0, 2})).to_vector<int64_t>(), std::vector<int64_t>{0, 2, 0, 0, 0, 0, 0, 2});
  const auto repeated = jit([](Tensor values, Tensor counts) { return repeat_interleave(values * 2, counts) + 1; });
  expect_near(repeated(tensor({1.0, 2.0}), tensor({2, 1})).to_vector<float>(), {3, 3, 5});
  const auto added = jit([](Tensor values, Tensor more) { return index_put(values, {values > 1}, more, true); });
  expect_near(added(tensor({1.0, 2.0, 3.0}), tensor({10.0, 20.0})).to_vector<float>(), {1, 12, 23});
}

TEST("one value written under a mask needs no break") {
  const auto f = jit([](Tensor x) { return index_put(x, {x < 0}, tensor(7.0)); }, {.fullgraph = true});
  expect_near(f(tensor({1.0, -1.0})).to_vector<float>(), {1, 7});
  const auto rows = [](Tensor x, Tensor mask, Tensor values) { return index_put(x, {mask}, values) * 1; };
  const auto jitted = jit(rows, {.fullgraph = true});
  const Tensor x = arange(6, {.dtype = Dtype::f32}).reshape({3, 2}), mask = tensor({true, false, true});
  expect_near(jitted(x, mask, tensor({8.0, 9.0})).to_vector<float>(), {8, 9, 2, 3, 8, 9});
  expect_near(jitted(x, mask, tensor({{8.0, 9.0}})).to_vector<float>(), {8, 9, 2, 3, 8, 9});
  const auto inside = [](Tensor v, Tensor value) {
    return sum(square(index_put(v, {Tensor(), tensor({true, false})}, value, true)));
  };
  const Tensor leaf = x.clone().requires_grad_(), value = tensor(0.5).requires_grad_();
  inside(leaf, value).backward();
  expect_near(leaf.grad().to_vector<float>(), {1, 2, 5, 6, 9, 10});
  expect_near(value.grad().item<double>(), 15);
  expect_error([&] { jitted(x, tensor({true, false}), tensor(1.0)); }, "does not match the indexed shape");
}

TEST("a function that is differentiated or recorded alone cannot have a break") {
  const auto asks = [](Tensor x) { return x * sum(x).item<double>(); };
  const auto total = [asks](Tensor x) { return sum(asks(x)); };
  const Tensor x = tensor({1.0, 2.0});
  const std::string inside =
      "item() needs the value of cpu f32[] inside a traced function: a graph break, which cannot be made inside ";
  expect_error([&] { grad(total)(x); }, inside + "grad(), value_and_grad(), vjp() and trace()");
  expect_error([&] { jit(grad(total))(x); }, inside + "grad()");
  expect_error([&] { vjp(asks, x); }, inside + "grad()");
  expect_error([&] { trace(asks, x); }, inside + "grad()");
  expect_error([&] { jit([asks](Tensor t) { return checkpoint(asks)(t) + 1; })(x); }, inside + "checkpoint()");
  expect_error([&] { jit(asks, {.fullgraph = true})(x); }, "a graph break, which cannot be made with fullgraph = true");
}

TEST("an exception behind a break leaves nothing behind but what was written before it") {
  const auto f = jit([](Tensor buffer, Tensor x) {
    buffer.add_(1);
    if (x.sum() > 0) throw std::runtime_error("enough");
    buffer.add_(10);
    return buffer * 1;
  });
  const Tensor buffer = zeros({2});
  for (int i = 0; i < 2; ++i) {
    try {
      f(buffer, ones({1}));
      expect(false);
    } catch (const std::runtime_error& error) {
      expect_equal(std::string(error.what()), "enough");
    }
  }
  expect_near(buffer.to_vector<float>(), {2, 2});
  expect_near(f(buffer, zeros({1})).to_vector<float>(), {13, 13});
  // Outside, eager mode is back.
  expect_near((buffer + 1).to_vector<float>(), {14, 14});
}

TEST("arguments that share memory, or are the same tensor, keep doing so") {
  const auto body = [](Tensor whole, Tensor row, Tensor again) {
    row.add_(1);
    const auto total = whole.sum().item<double>();
    whole.mul_(total);
    return row + again(1);
  };
  const auto f = jit(body);
  for (int i = 0; i < 2; ++i) {
    const Tensor x = ones({2, 3}), y = ones({2, 3});
    expect_near(numbers(f(x, x(0), x)), numbers(body(y, y(0), y)));
    expect_near(numbers(x), numbers(y));
  }
}

TEST("results are arguments, repeated, views and undefined across breaks") {
  const auto f = jit([](Tensor x, std::vector<Tensor> list) {
    graph_break();
    list.push_back(x);
    list.push_back(list[0](0));
    list.emplace_back();
    return list;
  });
  const Tensor x = ones({2}), y = ones({2, 2});
  for (int i = 0; i < 2; ++i) {
    const std::vector<Tensor> results = f(x, {y});
    expect(results[0].is_same(y));
    expect(results[1].is_same(x));
    expect_near(results[2].to_vector<float>(), {1, 1});
    expect(!results[3].defined());
  }
}

TEST("two values read in a row need no subgraph between them; numbers read from arguments need none at all") {
  const auto f = jit([](Tensor n, Tensor x) { return x * (n(0).item<double>() + n(1).item<double>()); });
  expect_near(f(tensor({1.0, 2.0}), ones({2})).to_vector<float>(), {3, 3});
  const auto g = jit([](Tensor n, Tensor x) { return x * n.item<double>(); });
  expect_near(g(tensor(3.0), ones({2})).to_vector<float>(), {3, 3});
  expect_equal(count_subgraphs(g), size_t{1});
}

TEST("an argument's gradient is there after backward() inside, and what asks about its history asks the argument") {
  int hooked = 0;
  const auto body = [&hooked](Tensor x) {
    const Tensor loss = sum(x * x);
    graph_break();
    expect(x.is_leaf() && !x.grad_fn());
    const HookHandle handle = x.register_hook([&hooked](const Tensor& gradient) {
      ++hooked;
      return gradient * 2;
    });
    loss.backward();
    const Tensor first = x.grad();
    x.set_grad(Tensor());
    expect(!x.grad().defined());
    sum(x * 3).backward();
    return first + x.grad();
  };
  const auto f = jit(body);
  for (int call = 0; call < 3; ++call) {
    const Tensor x = tensor({1.0, 2.0}).requires_grad_();
    expect_near(call == 0 ? body(x).to_vector<float>() : f(x).to_vector<float>(), {10, 14});
    expect_near(x.grad().to_vector<float>(), {6, 6});
  }
  expect_equal(hooked, 6);
}

TEST("a copy made inside a composite is a result of it at a break") {
  const auto check = [](const auto& copied) {
    const auto f = [copied](const Tensor& x, const Tensor& y) {
      const Tensor v = copied(x), part = v.narrow(0, 1, 2);
      const Tensor scaled = y * (sum(y).item<double>() > 0 ? 2 : 3);
      part.mul_(scaled.narrow(0, 0, 2));  // a view of the copy, written after the break
      return sum(v * v) + sum(x);
    };
    const auto compiled = jit([f](Tensor x, Tensor y) { return f(x, y); });
    const Tensor x = arange(1.0, 7.0).reshape({3, 2}), y = full({4, 2}, 0.5);
    std::vector<double> expected, found;
    for (const bool is_compiled : {false, true}) {
      const Tensor a = x.clone().requires_grad_(), b = y.clone().requires_grad_();
      const Tensor loss = is_compiled ? compiled(a, b) : f(a, b);
      loss.backward();
      std::vector<double>& out = is_compiled ? found : expected;
      for (const Tensor& t : {loss.detach().reshape({1}), a.grad().flatten(), b.grad().flatten()})
        for (const double value : t.to(Dtype::f64).to_vector<double>()) out.push_back(value);
    }
    expect_near(found, expected, 1e-5);
  };
  check([](const Tensor& x) { return x.narrow(1, 0, 2).repeat({2, 1}); });
  check([](const Tensor& x) { return tile(x, {2, 1}); });
  check([](const Tensor& x) { return repeat_interleave(x, 2, 0); });
  check([](const Tensor& x) { return x.t().expand({2, 2, 3}).reshape({6, 2}); });
}

TEST("a repeated argument is a copy, whatever its strides") {
  const auto f = [](Tensor x) {
    const Tensor v = x.narrow(1, 0, 2).repeat({1, 2});
    x.mul_(2);
    return v + 0;
  };
  for (const bool is_turned : {false, true}) {
    const Tensor x = is_turned ? arange(1.0, 7.0).reshape({3, 2}).t() : arange(1.0, 7.0).reshape({2, 3});
    const Tensor given = x.clone();
    expect_equal(jit(f)(is_turned ? x : given).to_vector<float>(),
                 is_turned ? std::vector<float>{1, 3, 1, 3, 2, 4, 2, 4} : std::vector<float>{1, 2, 1, 2, 4, 5, 4, 5});
  }
}
