#include <cmath>

#include <fulgurite/error.h>
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

// Expected numbers are PyTorch's in f64.

namespace {

void check(const Tensor& actual, const std::vector<double>& expected, SourceLocation at = SourceLocation::here()) {
  const std::vector<double> numbers = actual.to(kDouble).contiguous().to_vector<double>();
  if (!expect_equal(numbers.size(), expected.size(), at)) return;
  for (size_t i = 0; i < numbers.size(); ++i)
    if (std::isinf(expected[i])) expect_equal(numbers[i], expected[i], at);
    else expect_near(numbers[i], expected[i], 1e-9, at);
}

const Tensor x = tensor({-1.5, -0.3, 0.4, 2.0}, kDouble), p = tensor({0.5, 1.2, 3.0}, kDouble),
             q = tensor({0.1, 0.5, 0.95}, kDouble);
const Tensor m = arange(6.0, kDouble).reshape({2, 3}), c = arange(24.0, kDouble).reshape({2, 3, 4}),
             i = tensor({0, 2, 1});
const Tensor sq = tensor({{2.0, 1.0, 0.0}, {1.0, 3.0, 1.0}, {0.0, 1.0, 4.0}}, kDouble);
const Tensor nans = tensor({{1.0, NAN, 3.0, 2.0}, {NAN, NAN, NAN, NAN}}, kDouble);
const Tensor map = (eye(6, kDouble) * 2 + 0.1).reshape({2, 3, 2, 3});

}  // namespace

TEST("further functions of torch") {
  check(diagonal_copy(sq, 1), {1.0, 1.0});
  check(permute_copy(m, {1, 0}), {0.0, 3.0, 1.0, 4.0, 2.0, 5.0});
  check(unfold_copy(m, 1, 2, 1), {0.0, 1.0, 1.0, 2.0, 3.0, 4.0, 4.0, 5.0});
  check(view_copy(m, {3, 2}), {0.0, 1.0, 2.0, 3.0, 4.0, 5.0});
  check(expand_copy(q, {2, 3}), {0.1, 0.5, 0.95, 0.1, 0.5, 0.95});
  check(transpose_copy(m, 0, 1), {0.0, 3.0, 1.0, 4.0, 2.0, 5.0});
  check(select_copy(m, 1, 2), {2.0, 5.0});
  check(cat(unbind_copy(m)), {0.0, 1.0, 2.0, 3.0, 4.0, 5.0});
  check(diagonal_scatter(m, tensor({9.0, 8.0}, kDouble), 1), {0.0, 9.0, 2.0, 3.0, 4.0, 8.0});
  check(diagflat(q, 1), {0.0, 0.1, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.95, 0.0, 0.0, 0.0, 0.0});
  check(dsplit(c, 2)[1], {2.0, 3.0, 6.0, 7.0, 10.0, 11.0, 14.0, 15.0, 18.0, 19.0, 22.0, 23.0});
  check(trapz(q, p), {1.515});
  check(trapz(m), {2.0, 8.0});
  check(vdot(p, q), {3.4999999999999996});
  check(rsub(p, q, 2), {-0.9, -1.9, -5.05});
  check(isneginf(x / 0), {1.0, 1.0, 0.0, 0.0});
  check(isposinf(x / 0), {0.0, 0.0, 1.0, 1.0});
  check(angle(x), {3.141592653589793, 3.141592653589793, 0.0, 0.0});
  check(nanquantile(nans, 0.4, 1), {1.8, NAN});
  check(nanquantile(nans, 0.4), {1.8});
  check(cat(unravel_index(tensor({1, 5}), {2, 3})), {0.0, 1.0, 1.0, 2.0});
  check(nonzero_static(m, 7), {0.0, 1.0, 0.0, 2.0, 1.0, 0.0, 1.0, 1.0, 1.0, 2.0, -1.0, -1.0, -1.0, -1.0});
  check(index_reduce(m, 1, i, m + 2, "prod"), {0.0, 4.0, 6.0, 15.0, 28.0, 30.0});
  check(index_reduce(m, 1, tensor({0, 0, 2}), m + 2, "prod", false), {6.0, 1.0, 4.0, 30.0, 4.0, 7.0});
  check(index_reduce(m, 1, i, m + 2, "mean"), {1.0, 2.5, 2.5, 4.0, 5.5, 5.5});
  check(index_reduce(m, 1, tensor({0, 0, 2}), m + 2, "mean", false), {2.5, 1.0, 4.0, 5.5, 4.0, 7.0});
  check(index_reduce(m, 1, i, m + 2, "amax"), {2.0, 4.0, 3.0, 5.0, 7.0, 6.0});
  check(index_reduce(m, 1, tensor({0, 0, 2}), m + 2, "amax", false), {3.0, 1.0, 4.0, 6.0, 4.0, 7.0});
  check(index_reduce(m, 1, i, m + 2, "amin"), {0.0, 1.0, 2.0, 3.0, 4.0, 5.0});
  check(index_reduce(m, 1, tensor({0, 0, 2}), m + 2, "amin", false), {2.0, 1.0, 4.0, 5.0, 4.0, 7.0});
  check(std::get<0>(triangular_solve(m.t(), sq, true, true)),
        {0.0, 1.5, 0.3333333333333333, 0.8333333333333333, 0.4166666666666667, 1.0416666666666667});
  check(std::get<1>(svd_lowrank(sq, 2)), {4.732050807568878, 3.0000000000000004});
  check(std::get<1>(pca_lowrank(sq, 2)), {3.2744223439967963, 1.6160110291912777});
  check(linalg::tensorsolve(map, m), {-0.28846153846153844, 0.2115384615384615, 0.7115384615384617, 1.2115384615384617,
                                      1.7115384615384615, 2.2115384615384612});
  check(linalg::tensorinv(map).sum(), {2.3076923076923075});
  check(nn::upsample_bilinear(arange(4.0, kDouble).reshape({1, 1, 2, 2}), {3, 3}),
        {0.0, 0.5, 1.0, 1.0, 1.5, 2.0, 2.0, 2.5, 3.0});
  check(nn::upsample_nearest(arange(4.0, kDouble).reshape({1, 1, 2, 2}), {}, 2.0),
        {0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 2.0, 2.0, 3.0, 3.0});
}

TEST("copies have memory of their own, and real tensors are their conjugates") {
  expect(!shares_memory(t_copy(m), m) && !shares_memory(unsqueeze_copy(m, 0), m) && !shares_memory(alias_copy(m), m));
  expect(!shares_memory(squeeze_copy(m), m) && !shares_memory(narrow_copy(m, 0, 0, 1), m));
  expect_equal(split_copy(m, 2, 1)[1].shape(), Shape({2, 1}));
  expect_equal(split_with_sizes_copy(m, {1, 2}, 1)[1].shape(), Shape({2, 2}));
  expect(conj(x).is_same(x) && real(x).is_same(x) && isreal(x).all().item<bool>());
  expect_equal(empty_permuted({2, 3}, {1, 0}).strides() == std::vector<Int>{1, 2}, true);
  check(fill(m, 2), {2, 2, 2, 2, 2, 2});
}

TEST("nextafter gives the neighbouring number of each dtype") {
  const double inf = INFINITY;
  const std::vector<double> from = {0, 0, 1, 1, -1, 2, 3.5, inf, -inf, 1e-310, 5e-324, -5e-324, 1.7976931348623157e308,
                                    4},
                            to = {1, -1, 2, 0, 0, -inf, inf, 0, 0, 1, 0, 0, inf, 4};
  const Tensor found = nextafter(tensor(from, kDouble), tensor(to, kDouble));
  const std::vector<double> numbers = found.to_vector<double>();
  for (size_t k = 0; k < from.size(); ++k) expect_equal(numbers[k], std::nextafter(from[k], to[k]));
  expect(std::signbit(numbers[11]));
  const std::vector<float> narrow = {0, 1, -1, 0.5F, 3, 1e-40F, 3.4028234663852886e38F, -7.25F};
  for (const float goal : {10.0F, -10.0F}) {
    const std::vector<float> next = nextafter(tensor(narrow, kFloat), full({}, goal, kFloat)).to_vector<float>();
    for (size_t k = 0; k < narrow.size(); ++k) expect_equal(next[k], std::nextafter(narrow[k], goal));
  }
  const Tensor two = tensor({1.0, 2.0}, kDouble), zero = tensor({0.0, 0.0}, kDouble);
  check(nextafter(two.to(kHalf), zero.to(kHalf)), {1 - 0.00048828125, 2 - 0.0009765625});
  check(nextafter(two.to(kBFloat16), (two * 2).to(kBFloat16)), {1.0078125, 2.015625});
  expect_equal(nextafter(zero.to(kBFloat16), two.to(kBFloat16)).to(kDouble)[0].item<double>(), std::ldexp(1.0, -133));
  expect_equal(nextafter(zero.to(kHalf), two.to(kHalf)).to(kDouble)[0].item<double>(), std::ldexp(1.0, -24));
  expect(isnan(nextafter(two, zero / 0)).all().item<bool>() && isnan(nextafter(zero / 0, two)).all().item<bool>());
  expect(nextafter(two.to(kFloat), zero).dtype() == kDouble && nextafter(zeros({2, 1}), zeros({3})).numel() == 6);
  const Tensor x = tensor({1.0, 2.0, -0.5}, kDouble).requires_grad_(), y = tensor({2.0, 2.0, -INFINITY}, kDouble);
  const Tensor followed = nextafter(x, y);
  expect_equal(followed.detach().to_vector<double>()[2], std::nextafter(-0.5, -inf));
  followed.sum().backward();
  check(x.grad(), {1, 0, 1});
  expect(nextafter(zeros({0}), zeros({0})).numel() == 0);
}

TEST("further functions refuse what they cannot take") {
  expect_error([] { positive(tensor(true)); }, "positive: a boolean tensor has no sign");
  expect_error([] { dsplit(m, 2); }, "dsplit: the input has at least 3 dimensions, not cpu f64[2, 3]");
  expect_error([] { nanquantile(m, 2); }, "nanquantile: q must be from 0 to 1, not 2");
  expect_error([] { index_reduce(m, 0, i, m, "sum"); },
               "index_reduce: reduce is \"prod\", \"mean\", \"amax\" or \"amin\", not \"sum\"");
  expect_error(
      [] {
        empty_permuted({2, 3}, {0, 0});
      },
      "empty_permuted: [0, 0] is no order of the dimensions of [2, 3]");
  expect_error([] { diagonal_scatter(m, q); },
               "diagonal_scatter: the source has the shape of the diagonal, [2], not [3]");
  expect_error([] { nextafter(m, i); }, "nextafter: the tensors are floating, not cpu i64[3]");
  expect_error([] { svd_lowrank(sq, 4); }, "svd_lowrank: q must be from 0 to 3, not 4");
  expect_error([] { linalg::tensorsolve(m, q); }, "linalg.tensorsolve: A of shape [2, 3] is no square map to [3]");
}
