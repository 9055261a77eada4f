#include <cmath>

#include <fulgurite/error.h>
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

namespace {
std::vector<float> values(const Tensor& x) { return x.contiguous().to_vector<float>(); }
std::vector<int64_t> integers(const Tensor& x) { return x.contiguous().to_vector<int64_t>(); }
using Integers = std::vector<int64_t>;
}  // namespace

TEST("nonzero gives the indices of the elements in row-major order") {
  const Tensor x = tensor({{0.0, 1.0, 0.0}, {2.0, 0.0, 3.0}});
  expect_equal(integers(nonzero(x)), Integers{0, 1, 1, 0, 1, 2});
  expect_equal(integers(argwhere(x.t())), Integers{0, 1, 1, 0, 2, 1});
  expect_equal(nonzero(tensor(3.0)).shape(), Shape({1, 0}));
  expect_equal(nonzero(zeros({0, 3})).shape(), Shape({0, 2}));
  expect_equal(integers(nonzero(x.to(Dtype::bf16))), integers(nonzero(x > 0)));
  expect_equal(integers(nonzero(tensor({-0.0, NAN}))), Integers{1});
  const std::vector<Tensor> found = where(x > 1);
  expect(integers(found[0]) == Integers{1, 1} && integers(found[1]) == Integers{0, 2});
  expect_equal(integers(where(tensor(3.0))[0]), Integers{0});
}

TEST("masked_select broadcasts and has a gradient") {
  const Tensor x = tensor({{0.0, 1.0, 0.0}, {2.0, 0.0, 3.0}}).requires_grad_();
  const Tensor chosen = masked_select(x, tensor({true, false, true}));
  expect_equal(values(chosen.detach()), std::vector<float>{0, 0, 2, 3});
  sum(chosen * chosen).backward();
  expect_equal(values(x.grad()), std::vector<float>{0, 0, 0, 4, 0, 6});
  expect_equal(masked_select(tensor(3.0), tensor(true)).shape(), Shape({1}));
  expect_equal(masked_select(x, x > 100).shape(), Shape({0}));
  const Tensor row = tensor({1.0, 2.0}).requires_grad_();
  sum(masked_select(row, ones({2, 2}, {.dtype = Dtype::boolean}))).backward();
  expect_equal(values(row.grad()), std::vector<float>{2, 2});
  expect_error([&] { masked_select(x, x); }, "the mask must be boolean, not cpu f32[2, 3]");
  expect_error([&] { masked_select(x, tensor({true, false})); }, "masked_select: ");
}

TEST("unique gives values, inverse and counts") {
  const auto [v, inverse, counts] = unique(tensor({3, 1, 2, 1, 3, 3}));
  expect_equal(integers(v), Integers{1, 2, 3});
  expect_equal(integers(inverse), Integers{2, 0, 1, 0, 2, 2});
  expect_equal(integers(counts), Integers{2, 1, 3});
  const auto [w, places, lengths] = unique_consecutive(tensor({3, 1, 2, 1, 3, 3}));
  expect_equal(integers(w), Integers{3, 1, 2, 1, 3});
  expect_equal(integers(places), Integers{0, 1, 2, 3, 4, 4});
  expect_equal(integers(lengths), Integers{1, 1, 1, 1, 2});
  expect(!std::get<1>(unique(tensor({1, 1}), true, false)).defined());
  expect_equal(std::get<1>(unique(tensor({{1, 2}, {2, 1}}))).shape(), Shape({2, 2}));
  const auto numbers = values(std::get<0>(unique(tensor({NAN, 1.0, NAN}))));
  expect(numbers.size() == 3 && numbers[0] == 1 && std::isnan(numbers[2]));
  expect_equal(std::get<0>(unique(zeros({0}))).shape(), Shape({0}));
  expect_equal(std::get<0>(unique(tensor({2.0, 1.0}).to(Dtype::bf16))).dtype(), Dtype::bf16);
  expect_equal(std::get<0>(unique(tensor({true, false, true}))).to_vector<bool>(), std::vector<bool>{false, true});
}

TEST("unique along a dimension compares slices") {
  const Tensor x = tensor({{1, 2}, {0, 1}, {1, 2}});
  const auto [rows, inverse, counts] = unique(x, true, true, true, 0);
  expect(integers(rows) == Integers{0, 1, 1, 2} && rows.shape() == Shape({2, 2}));
  expect(integers(inverse) == Integers{1, 0, 1} && integers(counts) == Integers{1, 2});
  const auto [columns, places, lengths] = unique(x, {.dim = -1});
  expect(integers(columns) == Integers{1, 2, 0, 1, 1, 2} && integers(places) == Integers{0, 1} &&
         integers(lengths) == Integers{1, 1});
  expect_error([&] { unique(x, true, true, true, 2); }, "dim 2 is out of range");
  expect_error([&] { unique(tensor(1.0), true, true, true, 0); }, "dim 0 is out of range");
  expect_error([] { unique(zeros({2, 0}), true, true, true, 0); }, "have no elements to compare");
}

TEST("bincount counts numbers or adds up weights") {
  expect_equal(integers(bincount(tensor({1, 3, 1}), {}, 6)), Integers{0, 2, 0, 1, 0, 0});
  expect_equal(values(bincount(tensor({1, 3, 1}), tensor({0.5, 1.0, 2.0}))), std::vector<float>{0, 2.5, 0, 1});
  expect_equal(bincount(tensor({1, 1}), tensor({1, 2})).dtype(), Dtype::f64);
  expect_equal(bincount(zeros({0}, {.dtype = Dtype::i64})).shape(), Shape({0}));
  expect_error([] { bincount(tensor({-1})); }, "a negative number: -1");
  expect_error([] { bincount(tensor({1.0})); }, "integers of one dimension, not cpu f32[1]");
  expect_error([] { bincount(tensor({1, 2}), tensor({1.0})); }, "the weights are cpu f32[1]");
}

TEST("histc counts elements in equal intervals") {
  expect_equal(values(histc(tensor({1.0, 2.0, 1.0, 4.0, NAN, 9.0}), 4, 0, 4)), std::vector<float>{0, 2, 1, 1});
  expect_equal(values(histc(tensor({1.0, 2.0, 1.0, 4.0}), 3)), std::vector<float>{2, 1, 1});
  expect_equal(values(histc(tensor({2.0, 2.0}), 3)), std::vector<float>{0, 2, 0});
  expect_equal(values(histc(zeros({0}), 3)), std::vector<float>{0, 0, 0});
  expect_error([] { histc(tensor({1.0, NAN}), 4); }, "the range of the elements is not finite");
  expect_error([] { histc(tensor({1.0}), 0); }, "bins must be at least 1");
  expect_error([] { histc(tensor({1}), 2); }, "must be floating");
}

TEST("sizes that depend on elements break the graphs of jitted functions") {
  const auto f = jit([](const Tensor& x) {
    const Tensor y = x * 2;
    const Tensor chosen = masked_select(y, y > 2);
    return chosen * 3 + nonzero(chosen).size(0);
  });
  const Tensor x = tensor({0.0, 2.0, 3.0}).requires_grad_();
  expect_equal(values(f(x).detach()), std::vector<float>{14, 20});
  expect_equal(values(f(tensor({5.0, 0.0, 0.0}))), std::vector<float>{31});
  sum(f(x)).backward();
  expect_equal(values(x.grad()), std::vector<float>{0, 6, 6});
  const auto g = jit([](const Tensor& x) { return std::get<0>(unique(x + 1)) * 2; });
  expect_equal(values(g(tensor({1.0, 0.0, 1.0}))), std::vector<float>{2, 4});
  const auto whole = jit([](const Tensor& x) { return nonzero(x); }, {.fullgraph = true});
  expect_error([&] { whole(ones({2})); }, "nonzero()");
}

TEST("rows of a tensor are visited in a loop") {
  const Tensor x = tensor({{1.0, 2.0}, {3.0, 4.0}});
  float total = 0;
  for (const Tensor& row : x) total = total * 10 + sum(row).item<float>();
  expect_equal(total, 37.0f);
  for (Tensor row : x) row += 1;
  expect_equal(values(x), std::vector<float>{2, 3, 4, 5});
  for (const auto& row : zeros({0, 3})) expect(row.defined() && false, "there is no row");
  expect_error(
      [] {
        for (const auto& row : tensor(1.0)) row.numel();
      },
      "a tensor without dimensions has no rows");
  const auto f = jit([](const Tensor& x) {
    Tensor out = zeros({2});
    for (const Tensor& row : x) out = out * 2 + row;
    return out;
  });
  expect_equal(values(f(x)), std::vector<float>{8, 11});
}

TEST("an accessor reads and writes elements by their indexes") {
  const Tensor x = arange(6).to(Dtype::f32).reshape({2, 3});
  const auto a = accessor<float, 2>(x);
  expect_equal(a[1][2], 5.0f);
  a[0][1] = 9;
  expect_equal(x(0, 1).item<float>(), 9.0f);
  expect_equal(a.size(1), 3);
  const auto turned = accessor<float, 2>(x.t());
  expect_equal(turned[2][1], 5.0f);
  expect_error([&] { accessor<float, 1>(x); }, "the tensor has 2 dimensions, the accessor 1");
  expect_error([&] { accessor<double, 2>(x); }, "double");
}
