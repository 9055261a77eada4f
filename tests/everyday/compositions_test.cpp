#include <cmath>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

// Functions composed of operators; the values are PyTorch's.

namespace {

void check(const Tensor& found, const Dims& shape, const std::vector<float>& values,
           SourceLocation at = SourceLocation::here()) {
  expect_equal(found.shape(), Shape(shape), at);
  expect_near(found.to(Dtype::f32).contiguous().to_vector<float>(), values, 1e-5, at);
}

}  // namespace

TEST("parts and wholes") {
  const Tensor x = tensor({{1.0, -2.0, 3.0}, {4.0, 5.0, -6.0}}), y = tensor({{0.5, 1.0, 2.0}, {3.0, -1.0, 1.0}});
  const Tensor v = tensor({3.0, 1.0, 2.0, 5.0}), sq = tensor({{1.0, 2.0}, {3.0, 4.0}});
  const Tensor image = arange(16).to(Dtype::f32).reshape({1, 1, 4, 4}),
               nan = tensor({{1.0, NAN, 3.0}, {4.0, 5.0, 6.0}});
  const Tensor mask = tensor({{true, false, true}, {false, true, true}});
  check(fliplr(x), {2, 3}, {3, -2, 1, -6, 5, 4});
  check(flipud(x), {2, 3}, {4, 5, -6, 1, -2, 3});
  check(rot90(x), {3, 2}, {3, -6, -2, 5, 1, 4});
  check(rot90(x, 2), {2, 3}, {-6, 5, 4, 3, -2, 1});
  check(rot90(x, -1), {3, 2}, {4, 1, 5, -2, -6, 3});
  check(tensor_split(v, 3)[1], {1}, {2});
  check(tensor_split(v, {1, -1})[1], {2}, {1, 2});
  check(hsplit(x, 3)[2], {2, 1}, {3, -6});
  check(vsplit(x, 2)[1], {1, 3}, {4, 5, -6});
  check(dstack({x, y}), {2, 3, 2}, {1, 0.5, -2, 1, 3, 2, 4, 3, 5, -1, -6, 1});
  check(column_stack({v, v * 2}), {4, 2}, {3, 6, 1, 2, 2, 4, 5, 10});
  check(atleast_3d(v), {1, 4, 1}, {3, 1, 2, 5});
  check(atleast_2d(v), {1, 4}, {3, 1, 2, 5});
  check(broadcast_tensors({v, v.unsqueeze(1)})[1], {4, 4}, {3, 3, 3, 3, 1, 1, 1, 1, 2, 2, 2, 2, 5, 5, 5, 5});
  check(block_diag({x, sq, v}), {5, 9}, {1, -2, 3, 0, 0, 0, 0, 0, 0, 4, 5, -6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2,
                                         0, 0,  0, 0, 0, 0, 0, 3, 4, 0, 0, 0,  0, 0, 0, 0, 0, 0, 3, 1, 2, 5});
  check(cartesian_prod({v, v}), {16, 2},
        {3, 3, 3, 1, 3, 2, 3, 5, 1, 3, 1, 1, 1, 2, 1, 5, 2, 3, 2, 1, 2, 2, 2, 5, 5, 3, 5, 1, 5, 2, 5, 5});
  check(combinations(v), {6, 2}, {3, 1, 3, 2, 3, 5, 1, 2, 1, 5, 2, 5});
  check(combinations(v, 3), {4, 3}, {3, 1, 2, 3, 1, 5, 3, 2, 5, 1, 2, 5});
  check(combinations(v, 2, true), {10, 2}, {3, 3, 3, 1, 3, 2, 3, 5, 1, 1, 1, 2, 1, 5, 2, 2, 2, 5, 5, 5});
  check(tril_indices(3, 4, 1), {2, 9}, {0, 0, 1, 1, 1, 2, 2, 2, 2, 0, 1, 0, 1, 2, 0, 1, 2, 3});
  check(triu_indices(3, 4, -1), {2, 11}, {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 0, 1, 2, 3, 0, 1, 2, 3, 1, 2, 3});
  check(masked_scatter(x, mask, y), {2, 3}, {0.5, -2, 1, 4, 2, 3});
  check(isin(v, tensor({1.0, 5.0})), {4}, {0, 1, 0, 1});
}

TEST("numerical functions") {
  const Tensor x = tensor({{1.0, -2.0, 3.0}, {4.0, 5.0, -6.0}}), y = tensor({{0.5, 1.0, 2.0}, {3.0, -1.0, 1.0}});
  const Tensor v = tensor({3.0, 1.0, 2.0, 5.0}), sq = tensor({{1.0, 2.0}, {3.0, 4.0}});
  const Tensor image = arange(16).to(Dtype::f32).reshape({1, 1, 4, 4}),
               nan = tensor({{1.0, NAN, 3.0}, {4.0, 5.0, 6.0}});
  const Tensor mask = tensor({{true, false, true}, {false, true, true}});
  check(diff(x), {2, 2}, {-3, 5, 1, -11});
  check(diff(x, 2), {2, 1}, {8, -12});
  check(diff(x, 1, 0), {1, 3}, {3, 7, -9});
  check(trapezoid(v), {}, {7});
  check(trapezoid(x, 0.5, 0), {3}, {1.25, 0.75, -0.75});
  check(trapezoid(x, tensor({0.0, 1.0, 3.0})), {2}, {0.5, 3.5});
  check(cumulative_trapezoid(x), {2, 2}, {-0.5, 0, 4.5, 4});
  check(cov(x), {2, 2}, {6.333333, -13, -13, 37});
  check(cov(v), {}, {2.916667});
  check(cov(x, 0), {2, 2}, {4.222222, -8.666667, -8.666667, 24.666666});
  check(corrcoef(x), {2, 2}, {1.0, -0.849232, -0.849232, 1});
  check(vander(v), {4, 4}, {27, 9, 3, 1, 1, 1, 1, 1, 8, 4, 2, 1, 125, 25, 5, 1});
  check(vander(v, 2, true), {4, 2}, {1, 3, 1, 1, 1, 2, 1, 5});
  check(matrix_power(sq, 0), {2, 2}, {1, 0, 0, 1});
  check(matrix_power(sq, 5), {2, 2}, {1069, 1558, 2337, 3406});
  check(cross(x, y), {2, 3}, {-7, -0.5, 2, -1, -22, -19});
  check(dist(x, y, 3), {}, {8.378313});
  check(cdist(x, y), {2, 2}, {3.201562, 3, 9.604687, 9.273619});
  check(cdist(x, y, 1), {2, 2}, {4.5, 5, 15.5, 14});
  check(cdist(x, y, 0), {2, 2}, {3, 3, 3, 3});
  check(nansum(nan), {}, {19});
  check(nansum(nan, {0}), {3}, {5, 5, 9});
  check(nanmean(nan, {1}), {2}, {2, 5});
  check(quantile(v, 0.4), {}, {2.2});
  check(quantile(x, 0.25, 1, true), {2, 1}, {-0.5, -1});
  check(quantile(v, 0.4, {}, false, "lower"), {}, {2});
  check(quantile(v, 0.4, {}, false, "higher"), {}, {3});
  check(quantile(v, 0.4, {}, false, "nearest"), {}, {2});
  check(quantile(v, 0.4, {}, false, "midpoint"), {}, {2.5});
  check(quantile(nan, 0.5, 1), {2}, {NAN, 5});
  check(ldexp(x, y), {2, 3}, {1.414214, -4, 12, 32, 2.5, -12});
  check(logspace(0, 2, 5), {5}, {1, 3.162278, 10, 31.622776, 100});
  check(logspace(0, 3, 4, 2), {4}, {1, 2, 4, 8});
  check(hann_window(5), {5}, {0, 0.345492, 0.904508, 0.904508, 0.345491});
  check(hann_window(5, false), {5}, {0, 0.5, 1, 0.5, 0});
  check(hamming_window(6), {6}, {0.08, 0.31, 0.77, 1, 0.77, 0.31});
  check(blackman_window(6, false), {6}, {-0.0, 0.20077, 0.84923, 0.84923, 0.20077, -0.0});
  check(bartlett_window(5), {5}, {0, 0.4, 0.8, 0.8, 0.4});
  check(bartlett_window(1), {1}, {1});
  check(hann_window(0), {0}, {});
}

TEST("functions and layers of windows, paddings and distances") {
  const Tensor x = tensor({{1.0, -2.0, 3.0}, {4.0, 5.0, -6.0}}), y = tensor({{0.5, 1.0, 2.0}, {3.0, -1.0, 1.0}});
  const Tensor v = tensor({3.0, 1.0, 2.0, 5.0}), sq = tensor({{1.0, 2.0}, {3.0, 4.0}});
  const Tensor image = arange(16).to(Dtype::f32).reshape({1, 1, 4, 4}),
               nan = tensor({{1.0, NAN, 3.0}, {4.0, 5.0, 6.0}});
  const Tensor mask = tensor({{true, false, true}, {false, true, true}});
  check(nn::lp_pool2d(image, 2, 2), {1, 1, 2, 2}, {6.480741, 9.899495, 21.400934, 25.337719});
  check(nn::lp_pool1d(x.unsqueeze(0), 3, 2, 1), {1, 2, 2}, {NAN, 2.668402, 5.738793, NAN});
  check(nn::pdist(x.t()), {3}, {3.162278, 10.198039, 12.083046});
  check(nn::ReflectionPad2d(1)(image), {1, 1, 6, 6},
        {5, 4, 5, 6,  7,  6,  1,  0,  1,  2,  3,  2,  5, 4, 5, 6,  7,  6,
         9, 8, 9, 10, 11, 10, 13, 12, 13, 14, 15, 14, 9, 8, 9, 10, 11, 10});
  check(nn::ReplicationPad2d({1, 0, 0, 2})(image), {1, 1, 6, 5},
        {0, 0, 1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 10, 11, 12, 12, 13, 14, 15, 12, 12, 13, 14, 15, 12, 12, 13, 14, 15});
  check(nn::CircularPad1d(1)(x.unsqueeze(0)), {1, 2, 5}, {3, 1, -2, 3, 1, -6, 4, 5, -6, 4});
  check(nn::ConstantPad1d(1, 7.0)(x.unsqueeze(0)), {1, 2, 5}, {7, 1, -2, 3, 7, 7, 4, 5, -6, 7});
  check(nn::ZeroPad2d(1)(image), {1, 1, 6, 6}, {0, 0, 0, 0,  0,  0, 0, 0,  1,  2,  3,  0, 0, 4, 5, 6, 7, 0,
                                                0, 8, 9, 10, 11, 0, 0, 12, 13, 14, 15, 0, 0, 0, 0, 0, 0, 0});
  check(nn::Unfold(2)(image), {1, 4, 9}, {0, 1, 2, 4, 5, 6,  8,  9,  10, 1, 2, 3, 5, 6,  7,  9,  10, 11,
                                          4, 5, 6, 8, 9, 10, 12, 13, 14, 5, 6, 7, 9, 10, 11, 13, 14, 15});
  check(nn::Fold({4, 4}, 2)(nn::Unfold(2)(image)), {1, 1, 4, 4},
        {0, 2, 4, 3, 8, 20, 24, 14, 16, 36, 40, 22, 12, 26, 28, 15});
  check(nn::CosineSimilarity()(x, y), {2}, {0.524891, 0.03436});
  check(nn::PairwiseDistance()(x, y), {2}, {3.201562, 9.273619});
  check(nn::alpha_dropout(x, 0.5, false), {2, 3}, {1, -2, 3, 4, 5, -6});
}

TEST("compositions have gradients and are traced") {
  const Tensor a = tensor({{1.0, -2.0, 3.0}, {4.0, 5.0, -6.0}}).requires_grad_();
  const auto f = [](Tensor a) {
    const Tensor quantiles = quantile(a, 0.4, 1);
    const Tensor distances = cdist(a, a * 2.0);
    const Tensor covariances = cov(a);
    return sum(quantiles) + sum(distances) + sum(diff(a)) + sum(covariances);
  };
  const Tensor eager = autograd::grad(f(a), a)[0], compiled = autograd::grad(jit(f)(a), a)[0];
  expect_near(compiled.to_vector<float>(), eager.to_vector<float>(), 1e-5);
}

TEST("channels are dropped as a whole, and alpha dropout keeps mean and variance") {
  manual_seed(3);
  const Tensor dropped = nn::Dropout2d(0.5)(ones({8, 16, 3, 3}));
  const Tensor smallest = amin(dropped, {2, 3}), largest = amax(dropped, {2, 3});
  expect(equal(smallest, largest));
  expect_near(mean(dropped).item<double>(), 1, 0.3);
  nn::Dropout1d layer(0.5);
  nn::eval(layer);
  expect(equal(layer(ones({2, 3, 4})), ones({2, 3, 4})));
  const Tensor kept = nn::alpha_dropout(randn({100000}), 0.3, true);
  expect_near(mean(kept).item<double>(), 0, 0.02);
  expect_near(var(kept).item<double>(), 1, 0.03);
  const Tensor sample = nn::gumbel_softmax(zeros({1000, 4}), 0.5, true);
  expect(equal(sum(sample, {1}), ones({1000})));
  expect_near(mean(sample, {0}).to_vector<float>(), {0.25, 0.25, 0.25, 0.25}, 0.06);
}

TEST("compositions refuse what PyTorch refuses") {
  expect_error([] { fliplr(ones({3})); }, "fliplr: the input has at least 2 dimensions, not cpu f32[3]");
  expect_error(
      [] {
        hsplit(ones({2, 3}), 2);
      },
      "hsplit: dimension 1 of cpu f32[2, 3] does not divide into 2 equal parts");
  expect_error([] { quantile(ones({3}), 1.5); }, "quantile: q is from 0 to 1, not 1.5");
  expect_error([] { cross(ones({2}), ones({2})); }, "cross: dimension 0 of cpu f32[2] must have size 3");
  expect_error([] { matrix_power(ones({2, 2}), -1); }, "matrix_power: n must not be negative");
  expect_error([] { diff(Tensor()); }, "diff: the input is an undefined tensor");
  expect_error([] { rot90(ones({2, 2}), 1, {0, 0}); }, "rot90: both dimensions are 0");
  expect_error([] { masked_scatter(ones({2}), ones({2}) > 0, ones({1})); },
               "masked_scatter: the mask has 2 true elements, the source has 1 elements");
  expect_error(
      [] {
        nn::ReflectionPad1d(std::vector<int64_t>{1})(ones({1, 1, 3}));
      },
      "a padding of 1 dimensions has 2 widths, not 1");
}
