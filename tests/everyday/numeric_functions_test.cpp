#include <fulgurite/fulgurite.h>

#include "support/gradcheck.h"
#include "support/layer_values.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

// The values are PyTorch's.

namespace {
using Doubles = std::vector<double>;
}

TEST("numbers: gcd and lcm of integers") {
  const Tensor a = tensor({12, -18, 0, 7, 0}), b = tensor({18, 27, 5, 0, 0});
  expect_equal(values(gcd(a, b)), Doubles{6, 9, 5, 7, 0});
  expect_equal(values(lcm(a, b)), Doubles{36, 54, 0, 0, 0});
  expect_equal(values(jit([](const Tensor& x, const Tensor& y) { return gcd(x, y); })(a, b)), Doubles{6, 9, 5, 7, 0});
  const int64_t fibonacci = 4660046610375530309, before = 2880067194370816120;
  expect_equal(gcd(tensor(fibonacci), tensor(before)).item<int64_t>(), 1);
  expect_equal(values(gcd(tensor({{6}, {10}}), tensor({4, 15}))), Doubles{2, 3, 2, 5});
  expect_equal(gcd(tensor(std::vector<uint8_t>{250}), tensor(std::vector<uint8_t>{100})).dtype(), Dtype::u8);
  expect_equal(gcd(empty({0}, {.dtype = Dtype::i64}), tensor({3})).shape(), Shape{0});
  expect_error([] { gcd(ones({1}), tensor({1})); }, "gcd: the tensors must hold integers, not cpu f32[1]");
}

TEST("numbers: frexp is exact, also for the smallest and largest numbers") {
  const Tensor x = tensor({8.0, -0.3, 0.0, 1.0, 5e-324, 1e308, INFINITY}, {.dtype = Dtype::f64});
  const auto [mantissa, exponent] = frexp(x);
  expect_equal(values(exponent), Doubles{4, -1, 0, 1, -1073, 1024, 0});
  expect_equal(values(mantissa), Doubles{0.5, -0.6, 0, 0.5, 0.5, std::ldexp(1e308, -1024), INFINITY});
  expect_equal(exponent.dtype(), Dtype::i32);
  const Tensor single = wave({50}).to(Dtype::f32);
  const auto [m, e] = frexp(single);
  expect(ldexp(m, e.to(Dtype::f32)).equal(single));
  const auto mantissas = [](const std::vector<Tensor>& t) { return std::vector<Tensor>{std::get<0>(frexp(t[0]))}; };
  expect_equal(gradcheck(mantissas, {tensor({0.7, -3.3}, {.dtype = Dtype::f64}).requires_grad_()}), "");
  expect_error([] { frexp(tensor({1})); }, "frexp: the input must be floating, not cpu i64[1]");
}

TEST("numbers: mode returns the smallest of the most frequent values") {
  const Tensor x = tensor({{3, 1, 3, 2, 1}, {5, 5, 2, 2, 9}});
  const auto [value, index] = mode(x);
  expect_equal(values(value), Doubles{1, 2});
  expect_equal(values(index), Doubles{4, 3});
  const auto [columns, rows] = mode(x, 0, true);
  expect_equal(columns.shape(), Shape{1, 5});
  expect_equal(values(columns), Doubles{3, 1, 2, 2, 1});
  expect_equal(values(rows), Doubles{0, 0, 1, 1, 0});
  expect_equal(std::get<0>(mode(tensor(7))).item<int>(), 7);
  const auto modes = [](const std::vector<Tensor>& t) { return std::vector<Tensor>{std::get<0>(mode(t[0], 0))}; };
  expect_equal(gradcheck(modes, {wave({3, 2}).t().detach().requires_grad_()}), "");
  expect_error([] { mode(zeros({2, 0})); }, "mode: dimension -1 has no elements");
}

TEST("numbers: put writes at indices of the flattened tensor") {
  const Tensor index = tensor({1, -1, 1}), source = tensor({1.0, 2.0, 3.0});
  expect_equal(values(put(zeros({2, 3}), index, source, true)), Doubles{0, 4, 0, 0, 0, 2});
  expect_equal(values(put(zeros({2, 3}), tensor({{0}, {-2}}), tensor({{7.0}, {8.0}}))), Doubles{7, 0, 0, 0, 8, 0});
  const auto both = [&](const std::vector<Tensor>& t) { return std::vector<Tensor>{put(t[0], index, t[1], true)}; };
  expect_equal(gradcheck(both, {wave({2, 3}).detach().requires_grad_(), wave({3}, 1).detach().requires_grad_()}), "");
  expect_error([&] { put(zeros({3}), index, tensor({1.0})); }, "put: there are 3 indices and 1 elements");
  expect_error([&] { put(zeros({3}), index, index); }, "put: source must be f32, not i64");
}

TEST("numbers: histogram counts in equal or given intervals") {
  const Tensor v = tensor({0.0, 1.0, 1.0, 2.0, 2.5, 4.0});
  const auto [counts, ends] = histogram(v, 4);
  expect_equal(values(counts), Doubles{1, 2, 2, 1});
  expect_equal(values(ends), Doubles{0, 1, 2, 3, 4});
  const Tensor weight = tensor({1.0, 2.0, 3.0, 4.0, 5.0, 6.0});
  expect_equal(values(std::get<0>(histogram(v, 2, {.range = {0, 2}, .weight = weight}))), Doubles{1, 9});
  expect_near(values(std::get<0>(histogram(v, tensor({0.0, 1.0, 4.0}), {.density = true}))), {1.0 / 6, 2.5 / 9}, 1e-6);
  const auto [twice, around] = histogram(tensor({2.0, 2.0}), 2);
  expect_equal(values(twice), Doubles{0, 2});
  expect_equal(values(around), Doubles{1.5, 2, 2.5});
  expect_equal(values(std::get<0>(histogram(empty({0}), 2))), Doubles{0, 0});
  expect_error([&] { histogram(v, 0); }, "histogram: bins must be at least 1, not 0");
  expect_error([&] { histogram(v, 2, {.range = {2, 1}}); }, "histogram: the range must ascend: 2.0 and 1.0");
  expect_error([&] { histogram(v, 2, {.weight = ones({2})}); }, "histogram: weight must have the input's shape, [6]");
  expect_error([&] { histogram(tensor({1}), 2); }, "histogram: the input must be floating, not cpu i64[1]");
}

TEST("numbers: gradient takes differences along dimensions") {
  const Tensor g = tensor({1.0, 2.0, 4.0, 7.0, 11.0, 16.0});
  expect_equal(values(gradient(g)[0]), Doubles{1, 1.5, 2.5, 3.5, 4.5, 5});
  expect_equal(values(gradient(g, {2}, {}, 2)[0]), Doubles{0.25, 0.75, 1.25, 1.75, 2.25, 2.75});
  const auto both = gradient(wave({3, 4}), {1, 0.5});
  expect_near(values(both[0]),
              {0.3349881502, -0.9950009149, -1.857025502, -1.845661979, -0.3156333189, -0.3137018934, -0.1642315656,
               0.06247943361, -0.966254788, 0.3675971282, 1.528562371, 1.970620847},
              1e-9);
  expect_near(values(both[1]),
              {1.288435374, 0.98544973, 0.2189916794, -0.2444807267, -1.371542756, -1.206563923, -0.6316693849,
               -0.2217536804, 1.296161077, 1.288253237, 0.9713543334, 0.6623632703},
              1e-9);
  expect_equal(gradient(wave({3, 4}), {1}, {-1}).size(), 1u);
  const auto second = [](const std::vector<Tensor>& t) { return gradient(t[0], {0.5}, {}, 2); };
  expect_equal(gradcheck(second, {wave({4, 3}).t().detach().requires_grad_()}), "");
  expect_error([&] { gradient(ones({1})); }, "gradient: dimension 0 has 1 values; edge_order 1 needs 2");
  expect_error([&] { gradient(g, {1, 2}); }, "gradient: spacing must be 1 or 1 numbers, not 2");
  expect_error([&] { gradient(g, {1}, {}, 3); }, "gradient: edge_order must be 1 or 2, not 3");
}

TEST("numbers: poisson has its rate as mean and variance") {
  manual_seed(11);
  const Tensor drawn = poisson(full({4000}, 6.5));
  expect_near(drawn.mean().item<double>(), 6.5, 0.03);
  expect_near(drawn.var().item<double>(), 6.5, 0.08);
  expect_equal(drawn.frac().abs().sum().item<float>(), 0);
  expect_equal(values(poisson(zeros({3}))), Doubles{0, 0, 0});
  expect(poisson(full({5}, 2.0), Generator(3)).equal(poisson(full({5}, 2.0), Generator(3))));
  expect_error([] { poisson(tensor({-1.0})); }, "poisson: the rates must not be negative");
}
