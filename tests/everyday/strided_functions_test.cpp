#include <fulgurite/error.h>
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

// Expected numbers are PyTorch's in f64.

namespace {

void check(const Tensor& actual, const std::vector<double>& expected, SourceLocation at = SourceLocation::here()) {
  expect_near(actual.to(kDouble).contiguous().to_vector<double>(), expected, 1e-12, at);
}
Tensor numbers(int64_t count) { return arange(static_cast<double>(count), kDouble); }

}  // namespace

TEST("as_strided is a view with any sizes and strides") {
  const Tensor x = numbers(6);
  const Tensor windows = as_strided(x, {3, 3}, {1, 1}, 1);
  check(windows, {1, 2, 3, 2, 3, 4, 3, 4, 5});
  expect(shares_memory(windows, x) && !shares_memory(as_strided_copy(x, {2}, {1}), x));
  x.mul_(10);
  check(as_strided(x, {2}, {5}), {0, 50});
  check(windows, {10, 20, 30, 20, 30, 40, 30, 40, 50});
  as_strided(x, {2, 2}, {3, 1}).fill_(7);
  check(x, {7, 7, 20, 7, 7, 50});
  check(as_strided(x, {}, {}, 5), {50});
  expect_equal(as_strided(x, {0, 4}, {1, 1}).shape(), Shape({0, 4}));
}

TEST("as_strided counts in the memory of a transposed or a partial tensor") {
  const Tensor m = numbers(6).reshape({2, 3});
  check(as_strided(m.t(), {6}, {1}), {0, 1, 2, 3, 4, 5});
  check(as_strided(m.t(), {2}, {2}, 1), {1, 3});
  const Tensor column = m(Slice(), 1);  // elements 1 and 4
  check(as_strided(column, {3}, {1}), {1, 2, 3});
  check(as_strided(column, {3}, {1}, 0), {0, 1, 2});
  check(as_strided(numbers(10)(Slice(5, 8)), {4}, {2}, 1), {1, 3, 5, 7});
}

TEST("gradients of as_strided are summed where windows overlap") {
  const Tensor x = numbers(5).requires_grad_(), w = tensor({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}, kDouble);
  (as_strided(x, {3, 2}, {1, 1}, 1) * w).sum().backward();
  check(x.grad(), {0, 1, 5, 9, 6});
  const Tensor m = numbers(6).reshape({2, 3}).requires_grad_();
  (as_strided(m.t(), {2, 2}, {3, 2}) * tensor({{1.0, 2.0}, {3.0, 4.0}}, kDouble)).sum().backward();
  check(m.grad(), {1, 0, 2, 3, 0, 4});
}

TEST("as_strided_scatter replaces the elements at a view in a copy") {
  const Tensor x = numbers(6).requires_grad_(), s = tensor({{10.0, 20.0}, {30.0, 40.0}}, kDouble).requires_grad_();
  const Tensor y = as_strided_scatter(x, s, {2, 2}, {2, 1}, 1);
  check(y, {0, 10, 20, 30, 40, 5});
  check(x, {0, 1, 2, 3, 4, 5});
  (y * tensor({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, kDouble)).sum().backward();
  check(x.grad(), {1, 0, 0, 0, 0, 6});
  check(s.grad(), {2, 3, 4, 5});
  const Tensor m = numbers(6).reshape({2, 3});
  check(as_strided_scatter(m.t(), tensor({-1.0, -2.0}, kDouble), {2}, {1}, 1), {0, 3, -1, 4, -2, 5});
}

TEST("as_strided in a traced function gives what it gives outside") {
  const auto f = [](const Tensor& x) {
    const Tensor seen = as_strided(x, {3, 2}, {1, 1});
    return (seen * seen).sum({1});
  };
  for (const Tensor& x : {numbers(4), numbers(8).reshape({4, 2}).t()}) {
    const Tensor a = x.detach().requires_grad_(), b = x.detach().requires_grad_();
    const Tensor eager = f(a), traced = jit(f)(b);
    check(traced, eager.to_vector<double>());
    eager.sum().backward();
    traced.sum().backward();
    check(b.grad(), a.grad().contiguous().to_vector<double>());
  }
  const auto g = [](const Tensor& x, const Tensor& s) { return as_strided_scatter(x * 2, s, {2}, {3}, 1); };
  check(jit(g)(numbers(6), tensor({-1.0, -2.0}, kDouble)), {0, -1, 4, 6, -2, 10});
}

TEST("as_strided refuses views outside of the tensor") {
  const Tensor x = numbers(6), m = x.reshape({2, 3});
  expect_error([&] { as_strided(x, {4}, {2}); },
               "as_strided: the view spans the elements from 0 to 6 of the 6 of cpu f64[6]");
  expect_error([&] { as_strided(x, {2}, {1, 1}); }, "as_strided: size has 1 numbers and stride 2");
  expect_error([&] { as_strided(x, {2}, {-1}); }, "as_strided: sizes and strides must not be negative: [2] and [-1]");
  expect_error([&] { as_strided(x, {2}, {1}, -1); }, "as_strided: storage_offset must not be negative: -1");
  expect_error([] { as_strided(Tensor(), {2}, {1}); }, "as_strided: the input is an undefined tensor");
  expect_error([&] { as_strided(x.detach().requires_grad_()(Slice(0, 6, 2)), {6}, {1}); },
               "as_strided: cpu f64[3] has gaps or repeated elements, through which no gradient passes; call it on the "
               "tensor that this one is a view of");
  expect_error([&] { as_strided_scatter(x, x, {2}, {1}); },
               "as_strided_scatter: the source has the shape of the view, [2], not [6]");
  expect_error(
      [&] {
        as_strided_scatter(x, m, {2, 3}, {1, 1});
      },
      "more than one element of the tensor that is written refers to a single place in memory");
  expect_error(
      [&] { jit([](const Tensor& t) { return as_strided(t, {2}, {1}, 1); })(x); },
      "as_strided: the position of an argument or a view in its storage is not known inside a traced function; "
      "leave storage_offset out to begin at the tensor's first element");
}
