// In-place writes in traced functions: through tensors, views and views of views, of arguments and intermediates.
#include <functional>
#include <random>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

using Function = std::function<std::vector<Tensor>(std::vector<Tensor>)>;

std::vector<double> numbers(const Tensor& x) { return x.detach().to(Dtype::f64).contiguous().to_vector<double>(); }

/// The outcome of a run: results, arguments after it, and the gradients of the second argument, which is a leaf.
struct Outcome {
  std::vector<std::vector<double>> parts;
  std::vector<Shape> shapes;
};

Outcome outcome(const Function& run, const std::vector<Tensor>& given, bool with_gradient) {
  std::vector<Tensor> arguments{given[0].clone(), given[1].clone()};
  if (with_gradient) arguments[1].requires_grad_();
  const std::vector<Tensor> results = run(arguments);
  Outcome out;
  Tensor total;
  for (const Tensor& result : results) {
    out.parts.push_back(numbers(result));
    out.shapes.push_back(result.shape());
    if (!result.requires_grad()) continue;
    const Tensor part = sum(result * result);
    total = total.defined() ? total + part : part;
  }
  if (total.defined()) total.backward();
  out.parts.push_back(numbers(arguments[0]));
  out.parts.push_back(numbers(arguments[1].grad().defined() ? arguments[1].grad() : zeros_like(arguments[1])));
  return out;
}

bool agrees(const Function& f, const std::vector<Tensor>& given, bool with_gradient = true) {
  const Outcome eager = outcome(f, given, with_gradient);
  const auto jitted = jit([f](std::vector<Tensor> tensors) { return f(tensors); }, {.executors = {"eager"}});
  const Outcome compiled = outcome([&](std::vector<Tensor> tensors) { return jitted(tensors); }, given, with_gradient);
  const Outcome again = outcome([&](std::vector<Tensor> tensors) { return jitted(tensors); }, given, with_gradient);
  return eager.parts == compiled.parts && eager.shapes == compiled.shapes && compiled.parts == again.parts;
}

std::vector<Tensor> given(Shape shape = {3, 4}) {
  int64_t count = 1;
  for (const Int size : shape) count *= static_cast<int64_t>(size);
  const Tensor base = arange(0, count, 1, {.dtype = Dtype::f64});
  return {reshape(base, shape) * 0.5, reshape(base, shape) * 0.25 + 1};
}

void expect_agreement(const Function& f, SourceLocation at = SourceLocation::here()) { expect(agrees(f, given()), at); }

/// Random views of, and writes through, a tensor, which depend on the seed alone.
class RandomWrites {
 public:
  explicit RandomWrites(unsigned seed) : random_(seed) {}

  std::vector<Tensor> run(const std::vector<Tensor>& arguments) {
    argument_ = arguments[0];
    leaf_ = arguments[1];
    tensors_ = {argument_, leaf_ * 2, argument_ * leaf_};
    const int steps = 2 + below(8);
    for (int i = 0; i < steps; ++i) {
      const int kind = below(5);
      if (kind < 2) tensors_.push_back(view(draw()));
      else if (kind < 4) write(draw());
      else tensors_.push_back(draw() * 1.5 + 1);
    }
    std::vector<Tensor> results;
    for (size_t i = 1; i < tensors_.size(); ++i)
      if (below(2) == 0) results.push_back(tensors_[i] * 1.0);
    results.push_back(tensors_[1] + 0.0);
    return results;
  }

 private:
  int below(int64_t n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  Tensor draw() { return tensors_[static_cast<size_t>(below(static_cast<int64_t>(tensors_.size())))]; }

  Tensor view(const Tensor& x) {
    if (x.ndim() == 0) return unsqueeze(x, 0);
    const int dim = below(x.ndim());
    const auto size = static_cast<int64_t>(x.size(dim));
    switch (below(9)) {
      case 0: return transpose(x, dim, below(x.ndim()));
      case 1: return size > 0 ? select(x, dim, below(size)) : x;
      case 2: return narrow(x, dim, size / 2, size - size / 2);
      case 3: return prims::slice(x, dim, below(2), {}, 2);
      case 4: return x.ndim() < 4 ? unsqueeze(x, dim) : squeeze(x);
      case 5: return squeeze(x);
      case 6: return x.ndim() >= 2 ? diagonal(x) : x(Slice(1, {}));
      case 7: return chunk(x, 2, dim)[0];
      default: return movedim(x, dim, -1);
    }
  }

  void write(Tensor x) {
    // The leaf itself must not be written.
    switch (below(7)) {
      case 0: x.add_(1.25); return;
      case 1: x.mul_(-0.5); return;
      case 2: x.copy_(tensor(0.75, {.dtype = Dtype::f64})); return;
      case 3: x.zero_(); return;
      case 4: x.add_(x * x); return;
      case 5: x.fill_(2.5); return;
      default: {
        const Tensor other = draw();
        const Tensor value = other.shape() == x.shape() ? other * 0.5 : sin(x);
        x.copy_(value);
      }
    }
  }

  std::mt19937 random_;
  Tensor argument_, leaf_;
  std::vector<Tensor> tensors_;
};

}  // namespace

TEST("a write through a view becomes a new value of what it views, and one copy at the end") {
  const auto f = [](Tensor cache, Tensor row) {
    Tensor place = select(cache, 0, 1);
    place.copy_(row);
    return sum(cache, 0);
  };
  const auto jitted = jit(f, {.executors = {"eager"}});
  Tensor cache = zeros({3, 2});
  expect_near(jitted(cache, tensor({4.0, 5.0}, {.dtype = Dtype::f32})).to_vector<float>(), {4, 5});
  expect_near(cache.to_vector<float>(), {0, 0, 4, 5, 0, 0});
  expect_python(last_traces(jitted).front(), R"(
import torch

@torch.no_grad()
def computation(t_0, t_1):
  # t_0: "cpu f32[3, 2]"
  # t_1: "cpu f32[2]"
  t3 = torch.select_scatter(t_0, t_1, 0, 1)  # t3: "cpu f32[3, 2]"
    # t0 = prims.unsqueeze(t_1, 0)  # t0: "cpu f32[1, 2]"
    # t1 = prims.narrow(t_0, 0, 0, 1)  # t1: "cpu f32[1, 2]"
    # t2 = prims.narrow(t_0, 0, 2, 1)  # t2: "cpu f32[1, 2]"
    # t3 = prims.cat((t1, t0, t2))  # t3: "cpu f32[3, 2]"
  t4 = torch.sum(t3, (0,))  # t4: "cpu f32[2]"
  t5 = t_0.copy_(t3)  # t5: "cpu f32[3, 2]"
  return t4
)");
}

TEST("a view sees writes into what it views, and those through other views of it") {
  expect_agreement([](std::vector<Tensor> a) {
    Tensor y = a[1] * 2;
    const Tensor column = y(Slice(), 2);
    column.add_(1);
    y(2).mul_(3);
    const Tensor after = y(1) + y(2, 3);
    y(Slice(), 0).zero_();
    return std::vector<Tensor>{after, y * 1};
  });
  // Views made before a write see it.
  const Function f = [](std::vector<Tensor> a) {
    Tensor y = a[1] * 2;
    const Tensor row = y(1), column = y(Slice(), 2), corner = row(Slice(1, 3));
    y.add_(1);
    row.mul_(3);
    corner.zero_();
    return std::vector<Tensor>{row * 1, column * 1, corner + 2, y * 1};
  };
  expect(agrees(f, given()));
}

TEST("an argument is written through views of views") {
  expect_agreement([](std::vector<Tensor> a) {
    const Tensor part = a[0].transpose(0, 1)(Slice(1, 3))(0);
    part.copy_(a[1](Slice(), 0).detach());
    a[0](Slice(0, {}, 2), Slice(1, 3)).mul_(-1);
    return std::vector<Tensor>{a[0] * a[1]};
  });
}

TEST("gradients pass through writes as in eager mode") {
  expect_agreement([](std::vector<Tensor> a) {
    Tensor y = sin(a[1]);
    y(0).copy_(a[1](2) * 3);
    y(Slice(), 1).mul_(y(Slice(), 2));
    y(1).zero_();
    y.diagonal().add_(y(2, 3));
    return std::vector<Tensor>{y};
  });
}

TEST("reshape of a result is a view where its strides allow, else a copy") {
  expect_agreement([](std::vector<Tensor> a) {
    Tensor y = a[1] * 2;
    reshape(y, {-1})(5).copy_(a[1](0, 0));
    y.view({2, 6})(0).mul_(2);
    Tensor copied = reshape(y.t(), {-1});
    copied.add_(100);
    return std::vector<Tensor>{y, copied};
  });
  const Function f = [](std::vector<Tensor> a) {
    Tensor y = a[1] * 2;
    const Tensor flat = flatten(y), other = reshape(y.t(), {6, 2});
    y.add_(1);
    return std::vector<Tensor>{flat * 1, other * 1};
  };
  expect(agrees(f, given(), false));
  expect_agreement([](std::vector<Tensor> a) {
    a[0].view({-1})(Slice(2, 7)).add_(5);
    return std::vector<Tensor>{a[0] * a[1]};
  });
}

TEST("statistics advance in place inside a composite") {
  const auto f = [](Tensor x, Tensor mean, Tensor variance) { return nn::batch_norm(x, mean, variance, {}, {}, true); };
  const Tensor x = rand({6, 3});
  Tensor mean = zeros({3}), variance = ones({3}), eager_mean = zeros({3}), eager_variance = ones({3});
  const Tensor eager = f(x, eager_mean, eager_variance);
  const auto jitted = jit(f, {.executors = {"eager"}});
  const Tensor compiled = jitted(x, mean, variance);
  expect_equal(compiled.to_vector<float>(), eager.to_vector<float>());
  expect_equal(mean.to_vector<float>(), eager_mean.to_vector<float>());
  expect_equal(variance.to_vector<float>(), eager_variance.to_vector<float>());
}

TEST("arguments that share memory see each other's writes, and the way they share it is part of the key") {
  const auto f = [](Tensor a, Tensor b) {
    b.mul_(2);
    a.add_(1);
    return a.sum() + b.sum() * 10;
  };
  const auto jitted = jit(f, {.executors = {"eager"}});
  using Views = std::function<std::pair<Tensor, Tensor>(Tensor)>;
  const std::vector<Views> ways = {
      [](Tensor x) { return std::pair{x, x(1)}; },         [](Tensor x) { return std::pair{x(Slice(), 0), x}; },
      [](Tensor x) { return std::pair{x, x.t()}; },        [](Tensor x) { return std::pair{x(Slice(1, 3)), x(2)}; },
      [](Tensor x) { return std::pair{x, x.view({-1})}; }, [](Tensor x) { return std::pair{x, x(0)}; },
      [](Tensor x) { return std::pair{x(0), x(0)}; },
  };
  for (const Views& way : ways) {
    const Tensor eager = given()[0].clone(), compiled = given()[0].clone();
    const auto [a, b] = way(eager);
    const auto [c, d] = way(compiled);
    for (int call = 0; call < 2; ++call) {
      expect_equal(numbers(jitted(c, d)), numbers(f(a, b)));
      expect_equal(numbers(compiled), numbers(eager));
    }
  }
  expect_equal(cache_misses(jitted), static_cast<int64_t>(ways.size()));
  // Two windows of which neither holds the other.
  const Tensor x = given()[0].clone();
  expect_error([&] { jitted(x(Slice(0, 2)), x(Slice(1, 3))); }, "shares memory with");
}

// Eager mode refuses to differentiate saved values that were overwritten.
TEST("random views and writes leave the same behind eagerly and compiled") {
  int differ = 0, with_gradient = 0;
  const int count = 300;
  for (unsigned seed = 0; seed < count; ++seed) {
    const Function f = [seed](std::vector<Tensor> arguments) { return RandomWrites(seed).run(arguments); };
    const std::vector<Tensor> inputs = given(seed % 2 == 0 ? Shape{3, 4} : Shape{2, 3, 2});
    bool agree = agrees(f, inputs, false);
    try {
      outcome(f, inputs, true);
      agree = agree && agrees(f, inputs, true);
      ++with_gradient;
    } catch (const UserError&) {
    }
    if (!agree && ++differ < 4) std::printf("program %u differs\n", seed);
  }
  expect_equal(differ, 0);
  expect_greater(with_gradient, count / 4);
}

TEST("a reshaped argument is a view or a copy by its strides, for which the entry holds") {
  const Function written = [](std::vector<Tensor> x) {
    x[0].reshape({-1})(0).zero_();
    return std::vector<Tensor>{x[0] * 1};
  };
  const Function read = [](std::vector<Tensor> x) {
    const Tensor flat = x[0].reshape({-1});
    x[0].add_(1);
    return std::vector<Tensor>{flat * 1};
  };
  for (const Function& f : {written, read}) {
    const auto jitted = jit(f);
    for (int call = 0; call < 2; ++call)
      for (const bool is_transposed : {false, true}) {
        const Tensor x = rand({2, 3}) + 1, y = x.clone();
        const auto laid = [&](const Tensor& t) { return is_transposed ? t.t().contiguous().t() : t; };
        const Tensor a = laid(x), b = laid(y);
        expect_equal(numbers(jitted({a})[0]), numbers(f({b})[0]));
        expect_equal(numbers(a), numbers(b));
      }
    expect_equal(cache_misses(jitted), 2);
  }
}

TEST("unsupported writes are errors") {
  const Tensor x = rand({2, 3});
  expect_error(
      [&] {
        jit([](Tensor a) {
          (a * 1)(0).expand({4, 3}).zero_();
          return a * 1;
        })(x);
      },
      "more than one element of the tensor that is written refers to a single place in memory");
}
