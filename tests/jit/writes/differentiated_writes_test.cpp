// grad, value_and_grad and vjp of functions that write in place, eagerly and inside a traced function.
#include <functional>

#include <fulgurite/fulgurite.h>
#include <fulgurite/models/convnet.h>

#include "support/line_images.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

using Function = std::function<Tensor(Tensor, Tensor)>;

std::vector<double> numbers(const Tensor& x) { return x.detach().to(Dtype::f64).contiguous().to_vector<double>(); }

Tensor weights() { return reshape(arange(0, 12, 1, {.dtype = Dtype::f64}), {3, 4}) * 0.25 - 1; }
Tensor buffer() { return reshape(arange(0, 12, 1, {.dtype = Dtype::f64}), {3, 4}) * 0.5 + 0.5; }

/// Value, weight gradient and buffer agree between eager mode's backward, value_and_grad, and that jitted.
void expect_same_gradients(const Function& f, SourceLocation at = SourceLocation::here()) {
  const Tensor leaf = weights().requires_grad_(), written = buffer();
  const Tensor value = f(leaf, written);
  value.backward();
  const auto check = [&](const std::function<std::pair<Tensor, Tensor>(Tensor, Tensor)>& run) {
    const Tensor own = buffer();
    const auto [found, gradient] = run(weights(), own);
    expect_near(numbers(found), numbers(value), 1e-12, at);
    expect_near(numbers(gradient), numbers(leaf.grad()), 1e-12, at);
    expect_near(numbers(own), numbers(written), 1e-12, at);
  };
  check(value_and_grad(f));
  const auto jitted = jit(value_and_grad(f), {.executors = {"eager"}});
  check(jitted);
  check(jitted);
  const auto inside = jit([f](Tensor w, Tensor b) {
    b.mul_(2);
    auto [found, gradient] = value_and_grad(f)(w, b);
    gradient.add_(b * 0);
    return std::pair(found, gradient);
  });
  check([&](const Tensor& w, const Tensor& b) {
    b.mul_(0.5);
    return inside(w, b);
  });
}

}  // namespace

TEST("gradients pass through writes into an argument that is not differentiated") {
  expect_same_gradients([](Tensor w, Tensor b) {
    b.add_(w * 2);
    return sum(b * b);
  });
  expect_same_gradients([](Tensor w, Tensor b) {
    b(1).copy_(w(0) * 3);
    b(Slice(), 2).mul_(w(Slice(), 1));
    b.diagonal().zero_();
    return sum(b * w);
  });
  expect_same_gradients([](Tensor w, Tensor b) {
    const NoGrad no_grad;
    b.add_(w);
    const EnableGrad enable_grad;
    return sum(b * w);
  });
}

TEST("a buffer's value for a gradient is kept as it was before the write") {
  expect_same_gradients([](Tensor w, Tensor b) {
    const Tensor y = w * b.clone();
    b.add_(1);
    return sum(y * b);
  });
  // Views of the buffer, of which eager mode would save the memory.
  expect_same_gradients([](Tensor w, Tensor b) {
    const Tensor y = w(0) * b(1).clone() + w(Slice(), 1).sum() * b.t()(2, 1).clone();
    b.mul_(w);
    return sum(y) + sum(b);
  });
  const auto f = [](Tensor w, Tensor b) {
    const Tensor y = w * b.view({3, 4});
    b.zero_();
    return sum(y) + sum(b);
  };
  for (const bool compiled : {false, true}) {
    const Tensor b = buffer();
    const auto [value, gradient] = compiled ? jit(value_and_grad(f))(weights(), b) : value_and_grad(f)(weights(), b);
    expect_near(value.item<double>(), sum(weights() * buffer()).item<double>());
    expect_near(numbers(gradient), numbers(buffer()));
    expect_near(numbers(b), numbers(zeros({3, 4})));
  }
}

TEST("writes through values and views of the function's own") {
  expect_same_gradients([](Tensor w, Tensor b) {
    Tensor y = sin(w);
    y(0).mul_(3);
    y(Slice(), Slice(1, 3)).add_(b(Slice(), Slice(0, 2)));
    y.t()(1).copy_(w(Slice(), 0) * w(Slice(), 3));
    return sum(y * y);
  });
}

TEST("a cache is filled row by row under value_and_grad") {
  const auto attend = [](Tensor query, Tensor cache, int64_t at) {
    cache(at).copy_(tanh(query));
    const Tensor scores = softmax(matmul(cache(Slice(0, at + 1)), query), 0);
    return sum(matmul(scores, cache(Slice(0, at + 1))));
  };
  const auto step = jit(value_and_grad(attend));
  const Tensor cache = zeros({4, 3});
  Tensor reference = zeros({4, 3});
  for (int64_t i = 0; i < 4; ++i) {
    const Tensor query = tensor({0.1 * static_cast<double>(i), -0.2, 0.3});
    const Tensor leaf = query.clone().requires_grad_();
    const Tensor expected = attend(leaf, reference, i);
    expected.backward();
    reference = reference.detach();
    const auto [value, gradient] = step(query, cache, i);
    expect_near(value.item<double>(), expected.item<double>());
    expect_near(numbers(gradient), numbers(leaf.grad()), 1e-6);
    expect_near(numbers(cache), numbers(reference), 1e-6);
  }
}

TEST("a captured buffer is written once a call") {
  const Tensor calls = zeros({});
  const auto f = [calls](Tensor x) {
    calls.add_(1);
    return sum(x * x) * calls;
  };
  const auto step = jit(value_and_grad(f));
  const Tensor x = tensor({1.0, 2.0});
  expect_near(step(x).first.item<double>(), 5);
  expect_near(step(x).second.to_vector<float>(), {4, 8});
  expect_near(value_and_grad(f)(x).first.item<double>(), 15);
  const auto [y, pullback] = vjp(f, x);
  expect_near(y.item<double>(), 20);
  expect_near(std::get<0>(pullback(tensor(1.0))).to_vector<float>(), {8, 16});
  expect_near(calls.item<double>(), 4);
  // Gradients of gradients write as often as the function runs.
  const auto second = grad([f](Tensor t) { return sum(grad(f)(t)); });
  expect_near(second(x).to_vector<float>(), {10, 10});
  expect_near(calls.item<double>(), 5);
  expect_near(jit(second)(x).to_vector<float>(), {12, 12});
  expect_near(calls.item<double>(), 6);
}

TEST("batch norm trains inside value_and_grad, jitted, and its statistics follow") {
  manual_seed(2);
  const models::Convnet first = models::make_convnet({.width = 4, .classes = 2});
  const auto [images, classes] = line_images();
  const auto loss = [](models::Convnet convnet, Tensor x, Tensor y) { return convnet.loss(x, y); };
  const auto step = jit(value_and_grad(loss));
  double before = 0, after = 0;
  for (int i = 0; i < 41; ++i) {
    const auto [value, gradient] = step(first, images, classes);
    after = value.item<double>();
    if (i == 0) before = after;
    const NoGrad no_grad;
    const auto parameters = nn::named_parameters(first), slopes = nn::named_parameters(gradient);
    for (size_t k = 0; k < parameters.size(); ++k) parameters[k].second.sub_(slopes[k].second * 0.2);
  }
  expect_equal(cache_misses(step), int64_t{1});
  expect_greater(before, 0.4);
  expect_less(after, 0.2);
  expect_equal(first.first.norm.num_batches_tracked.item<int64_t>(), int64_t{41});
  models::Convnet evaluated = first;
  nn::eval(evaluated);
  expect_less(loss(evaluated, images, classes).item<double>(), 0.35);
}

TEST("results and copies in an overwritten input's memory are as they were before") {
  const auto swap = [](Tensor a, Tensor b) {
    a.copy_(b);
    b.add_(1);
    const Tensor part = a(1);
    return std::tuple(a, part, b(0) * 1);
  };
  const Tensor a = weights(), b = buffer();
  const auto [whole, part, other] = jit(swap)(a, b);
  expect_equal(numbers(whole), numbers(buffer()));
  expect_equal(numbers(part), numbers(buffer()(1)));
  expect_equal(numbers(a), numbers(buffer()));
  expect_equal(numbers(b), numbers(buffer() + 1));
  const auto rotate = [](Tensor x, Tensor y) {
    const Tensor row = x(0).clone();
    x(0).copy_(y(1));
    y(1).copy_(row);
    y(0).copy_(x(2));
    x.mul_(2);
  };
  const Tensor c = weights(), d = buffer(), e = weights(), f = buffer();
  jit(rotate)(c, d);
  rotate(e, f);
  expect_equal(numbers(c), numbers(e));
  expect_equal(numbers(d), numbers(f));
}

TEST("a leaf that requires grad is not written in place") {
  const Tensor x = weights(), b = buffer();
  const int line = SourceLocation::here().line;
  const auto in_place = [](Tensor w) {
    w.add_(1);
    return sum(w * w);
  };
  const auto through_view = [](Tensor w) {
    w(0).add_(1);
    return sum(w * w);
  };
  const std::string message =
      "a leaf tensor that requires grad is written in place: t_0, cpu f64[3, 4]; wrap it in NoGrad, or write into a "
      "copy";
  for (const auto& run : std::vector<std::function<void()>>{[&] { grad(in_place)(x); }, [&] { jit(grad(in_place))(x); },
                                                            [&] { vjp(in_place, x); }}) {
    try {
      run();
      expect(false);
    } catch (const UserError& error) {
      expect_different(std::string(error.what()).find(message), std::string::npos);
      expect(std::string(error.what()).find("differentiated_writes_test.cpp:" + std::to_string(line + 2)) !=
             std::string::npos);
    }
  }
  expect_error([&] { jit(grad(through_view))(x); },
               "a view of a leaf tensor that requires grad is written in place: t_0");
  expect_equal(numbers(x), numbers(weights()));
  const Tensor parameter = weights().requires_grad_();
  expect_error([&] { jit(in_place)(parameter); }, message);
  // A tensor made from a leaf may be written.
  const auto of_result = jit([](Tensor w) {
    Tensor y = w * 2;
    return grad([](Tensor z) { return sum(z * z); })(y.add_(1));
  });
  expect_near(numbers(of_result(x)), numbers((x * 2 + 1) * 2));
}

TEST("a pullback says that what it needs was overwritten; inside a traced function it has it") {
  const auto f = [](Tensor w) { return sum(w * w); };
  const Tensor x = weights();
  const auto [value, pullback] = vjp(f, x);
  x.add_(1);
  expect_error([&, &back = pullback] { back(tensor(1.0, {.dtype = Dtype::f64})); },
               "was written in place after the function had been called");
  const auto traced = jit([f](Tensor w) {
    const auto [y, back] = vjp(f, w);
    w.add_(1);
    return std::get<0>(back(ones_like(y)));
  });
  const Tensor z = weights();
  expect_near(numbers(traced(z)), numbers(weights() * 2));
  expect_equal(numbers(z), numbers(weights() + 1));
}

TEST("arguments that share memory are written as one, or both are named") {
  const auto f = [](Tensor w, Tensor b, Tensor row) {
    row.mul_(2);
    b.add_(w);
    return sum(b * w) + sum(row);
  };
  const Tensor b = buffer(), reference = buffer(), leaf = weights().requires_grad_();
  const Tensor row = reference(1);
  {
    // Eager mode refuses a view that is older than a write that carries a gradient.
    row.mul_(2);
    const Tensor next = reference + leaf;
    (sum(next * leaf) + sum(next(1))).backward();
  }
  const auto [value, gradient] = value_and_grad(f)(weights(), b, b(1));
  expect_near(numbers(gradient), numbers(leaf.grad()));
  const Tensor w = weights();
  expect_error([&] { value_and_grad(f)(w, w, w(1)); },
               "the function given to value_and_grad writes into t_1, which shares memory with t_0");
}

TEST("an input is overwritten after what another input is given has been computed from it") {
  const auto f = [](Tensor w, Tensor c, Tensor d) {
    d.copy_(c);
    d.mul_(w);
    c.add_(-0.25);
    return sum(w);
  };
  for (const bool compiled : {false, true}) {
    const Tensor w = tensor({1.0, 2.0}), c = tensor({1.0, 1.0}), d = zeros({2});
    if (compiled) jit(f)(w, c, d);
    else value_and_grad(f)(w, c, d);
    expect_near(c.to_vector<float>(), {0.75, 0.75});
    expect_near(d.to_vector<float>(), {1, 2});
  }
}
