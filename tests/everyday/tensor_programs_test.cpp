#include <cmath>
#include <sstream>

#include <fulgurite/error.h>
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::indexing;

// Short programs on tensors, each as a user of LibTorch, PyTorch or MLX writes it, with the values that they
// give there.

namespace {

std::vector<double> numbers(const Tensor& x) { return x.detach().to(kDouble).contiguous().to_vector<double>(); }

}  // namespace

TEST("the largest element of each row and its index") {
  const auto [values, indices] = max(tensor({{1.0, 5.0, 2.0}, {7.0, 0.0, 3.0}}), 1);
  expect_equal(numbers(values), std::vector<double>{5, 7});
  expect_equal(indices.to_vector<int64_t>(), std::vector<int64_t>{1, 0});
}

TEST("rows are normalized to length one") {
  const Tensor x = nn::normalize(tensor({{3.0, 4.0}, {0.0, 2.0}}));
  expect_near(numbers(x), {0.6, 0.8, 0, 1}, 1e-6);
}

TEST("standardized columns") {
  const Tensor x = arange(12.0).reshape({4, 3});
  const Tensor z = (x - x.mean(0)) / x.std(0);
  expect_near(numbers(z.mean(0)), {0, 0, 0}, 1e-6);
  expect_near(numbers(z.std(0)), {1, 1, 1}, 1e-6);
}

TEST("one-hot rows by scatter") {
  const Tensor labels = tensor({2, 0});
  const Tensor hot = zeros({2, 3}).scatter_(1, labels.unsqueeze(1), 1.0);
  expect_equal(numbers(hot), std::vector<double>{0, 0, 1, 1, 0, 0});
}

TEST("a mask of a sequence's lengths") {
  const Tensor lengths = tensor({1, 3});
  const Tensor mask = arange(3).unsqueeze(0) < lengths.unsqueeze(1);
  expect_equal(numbers(mask), std::vector<double>{1, 0, 0, 1, 1, 1});
}

TEST("the mean over what is not padding") {
  const Tensor x = arange(6.0).reshape({2, 3}), mask = tensor({{1.0, 1.0, 0.0}, {1.0, 0.0, 0.0}});
  expect_near(numbers((x * mask).sum(1) / mask.sum(1)), {0.5, 3}, 1e-6);
}

TEST("distances between all pairs of points by broadcasting") {
  const Tensor a = tensor({{0.0, 0.0}, {3.0, 4.0}}), b = tensor({{0.0, 4.0}});
  const Tensor d = (a.unsqueeze(1) - b.unsqueeze(0)).pow(2).sum(-1).sqrt();
  expect_near(numbers(d), {4, 3}, 1e-6);
  expect_near(numbers(cdist(a, b)), {4, 3}, 1e-6);
}

TEST("the k nearest neighbours") {
  const Tensor points = tensor({0.0, 1.0, 5.0, 6.0}).unsqueeze(1);
  const auto [distances, indices] = topk(cdist(points, points), 2, 1, false);
  expect_equal(numbers(indices(Slice(), 1)), std::vector<double>{1, 0, 3, 2});
}

TEST("a histogram of integers") {
  expect_equal(numbers(bincount(tensor({0, 1, 1, 3}))), std::vector<double>{1, 2, 0, 1});
}

TEST("sums by group with index_add") {
  const Tensor sums = zeros({3}).index_add(0, tensor({0, 2, 0, 2}), tensor({1.0, 2.0, 3.0, 4.0}));
  expect_equal(numbers(sums), std::vector<double>{4, 0, 6});
}

TEST("means by group with scatter_reduce") {
  const Tensor means = zeros({2}).scatter_reduce(0, tensor({0, 1, 0}), tensor({1.0, 5.0, 3.0}), "mean", false);
  expect_equal(numbers(means), std::vector<double>{2, 5});
}

TEST("a moving average by unfold") { expect_near(numbers(arange(5.0).unfold(0, 3, 1).mean(-1)), {1, 2, 3}, 1e-6); }

TEST("a moving average by a convolution") {
  const Tensor x = arange(5.0).reshape({1, 1, 5});
  expect_near(numbers(nn::conv1d(x, full({1, 1, 3}, 1.0 / 3))), {1, 2, 3}, 1e-6);
}

TEST("a checkerboard") {
  const Tensor grid = (arange(3).unsqueeze(1) + arange(4).unsqueeze(0)) % 2;
  expect_equal(numbers(grid), std::vector<double>{0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1});
}

TEST("a table of products by meshgrid") {
  const auto grid = meshgrid({arange(3), arange(2)}, "ij");
  expect_equal(numbers(grid[0] * grid[1]), std::vector<double>{0, 0, 0, 1, 0, 2});
}

TEST("a causal mask, and softmax under it") {
  const Tensor scores = zeros({3, 3}).masked_fill(triu(ones({3, 3}), 1).to(kBool), -INFINITY);
  expect_near(numbers(softmax(scores, -1)), {1, 0, 0, 0.5, 0.5, 0, 1.0 / 3, 1.0 / 3, 1.0 / 3}, 1e-6);
}

TEST("a batch of matrices times a batch of vectors") {
  const Tensor m = arange(8.0).reshape({2, 2, 2}), v = ones({2, 2});
  expect_equal(numbers(matmul(m, v.unsqueeze(-1)).squeeze(-1)), std::vector<double>{1, 5, 9, 13});
  expect_equal(numbers(einsum("bij,bj->bi", {m, v})), std::vector<double>{1, 5, 9, 13});
}

TEST("an outer product, a trace and a diagonal by einsum") {
  const Tensor a = tensor({1.0, 2.0}), m = arange(4.0).reshape({2, 2});
  expect_equal(numbers(einsum("i,j->ij", {a, a})), std::vector<double>{1, 2, 2, 4});
  expect_equal(einsum("ii->", {m}).item<double>(), 3.0);
  expect_equal(numbers(einsum("ii->i", {m})), std::vector<double>{0, 3});
}

TEST("a least-squares line") {
  const Tensor x = arange(5.0), y = 2 * x + 1;
  const Tensor solution = linalg::lstsq(stack({x, ones_like(x)}, 1), y.unsqueeze(1));
  expect_near(numbers(solution), {2, 1}, 1e-4);
}

TEST("principal components by a singular value decomposition") {
  const Tensor x = tensor({{2.0, 0.0}, {-2.0, 0.0}, {0.0, 1.0}, {0.0, -1.0}});
  const auto [u, s, vh] = linalg::svd(x, false);
  expect_near(numbers(s), {std::sqrt(8.0), std::sqrt(2.0)}, 1e-5);
  expect_near(std::abs(vh(0, 0).item<double>()), 1, 1e-5);
}

TEST("a system of equations, an inverse and a determinant") {
  const Tensor a = tensor({{2.0, 1.0}, {1.0, 3.0}}), b = tensor({3.0, 5.0});
  expect_near(numbers(linalg::solve(a, b)), {0.8, 1.4}, 1e-6);
  expect_near(numbers(matmul(a, linalg::inv(a))), {1, 0, 0, 1}, 1e-6);
  expect_near(a.det().item<double>(), 5, 1e-5);
}

TEST("a square root of a matrix by its eigenvalues") {
  const Tensor a = tensor({{2.0, 1.0}, {1.0, 2.0}});
  const auto [values, vectors] = linalg::eigh(a);
  const Tensor root = matmul(vectors * values.sqrt(), vectors.t());
  expect_near(numbers(matmul(root, root)), {2, 1, 1, 2}, 1e-5);
}

TEST("a cumulative sum, backwards too") {
  const Tensor x = tensor({1.0, 2.0, 3.0});
  expect_equal(numbers(cumsum(x, 0)), std::vector<double>{1, 3, 6});
  expect_equal(numbers(x.flip({0}).cumsum(0).flip({0})), std::vector<double>{6, 5, 3});
}

TEST("discounted returns of an episode") {
  const Tensor rewards = tensor({1.0, 0.0, 2.0}), powers = pow(0.5, arange(3.0));
  std::vector<Tensor> returns;
  for (int64_t i = 0; i < 3; ++i) returns.push_back((rewards.slice(0, i) * powers.slice(0, 0, 3 - i)).sum());
  expect_near(numbers(stack(returns)), {1.5, 1, 2}, 1e-6);
}

TEST("sorted by another tensor's order") {
  const Tensor keys = tensor({3, 1, 2}), values = tensor({30.0, 10.0, 20.0});
  expect_equal(numbers(values.index_select(0, keys.argsort())), std::vector<double>{10, 20, 30});
  expect_equal(numbers(values(keys.argsort())), std::vector<double>{10, 20, 30});
}

TEST("distinct values and how often they occur") {
  const auto [values, inverse, counts] = unique(tensor({3, 1, 3, 2}));
  expect_equal(numbers(values), std::vector<double>{1, 2, 3});
  expect_equal(numbers(counts), std::vector<double>{1, 1, 2});
  expect_equal(numbers(values(inverse)), std::vector<double>{3, 1, 3, 2});
}

TEST("quantiles, a median and clipped outliers") {
  const Tensor x = tensor({1.0, 2.0, 3.0, 100.0});
  expect_equal(quantile(x, 0.5).item<double>(), 2.5);
  expect_equal(median(x).item<double>(), 2.0);
  expect_equal(numbers(clamp(x, 0, 10)), std::vector<double>{1, 2, 3, 10});
}

TEST("missing numbers are counted and replaced") {
  const Tensor x = tensor({1.0, NAN, 3.0});
  expect_equal(isnan(x).sum().item<int64_t>(), int64_t{1});
  expect_equal(nanmean(x).item<double>(), 2.0);
  expect_equal(numbers(where(isnan(x), 0.0, x)), std::vector<double>{1, 0, 3});
  expect_equal(numbers(nan_to_num(x, -1.0)), std::vector<double>{1, -1, 3});
}

TEST("an image from rows of pixels to channels first, and back") {
  const Tensor pixels = arange(12).reshape({2, 2, 3}), image = pixels.permute({2, 0, 1});
  expect_equal(image.shape(), Shape({3, 2, 2}));
  expect_equal(numbers(image(0)), std::vector<double>{0, 3, 6, 9});
  expect_equal(equal(image.permute({1, 2, 0}), pixels), true);
}

TEST("patches of an image") {
  const Tensor x = arange(16.0).reshape({1, 1, 4, 4});
  const Tensor patches = nn::unfold(x, 2, 1, 0, 2);
  expect_equal(patches.shape(), Shape({1, 4, 4}));
  expect_equal(numbers(patches(0, Slice(), 3)), std::vector<double>{10, 11, 14, 15});
  expect_equal(equal(nn::fold(patches, {4, 4}, 2, 1, 0, 2), x), true);
}

TEST("rotated position embeddings") {
  const Tensor x = tensor({{1.0, 0.0}}), angle = tensor({M_PI / 2});
  const Tensor turned = stack({x(Slice(), 0) * cos(angle) - x(Slice(), 1) * sin(angle),
                               x(Slice(), 0) * sin(angle) + x(Slice(), 1) * cos(angle)},
                              1);
  expect_near(numbers(turned), {0, 1}, 1e-6);
}

TEST("sinusoidal positions") {
  const Tensor positions = arange(4.0).unsqueeze(1), rates = exp(arange(0, 4, 2).to(kFloat) * (-std::log(10000.0) / 4));
  Tensor table = zeros({4, 4});
  table.index_put_({Slice(), Slice(0, None, 2)}, sin(positions * rates));
  table.index_put_({Slice(), Slice(1, None, 2)}, cos(positions * rates));
  expect_near(table(1, 0).item<double>(), std::sin(1.0), 1e-6);
  expect_near(table(2, 3).item<double>(), std::cos(0.02), 1e-6);
}

TEST("views share memory, copies do not") {
  Tensor x = zeros({2, 3});
  const Tensor row = x(0), copy = x(1).clone();
  row.fill_(1);
  x(1, 2) = 5;
  expect_equal(numbers(x), std::vector<double>{1, 1, 1, 0, 0, 5});
  expect_equal(copy.sum().item<double>(), 0.0);
  x += 1;
  expect_equal(row(0).item<double>(), 2.0);
}

TEST("parts of a tensor are written by index") {
  Tensor x = zeros({3, 3});
  x(Slice(), 1) = tensor({1.0, 2.0, 3.0});
  x(x == 3) = -1;
  x(tensor({0, 2}), tensor({0, 0})) = 7;
  x(Slice(0, 2), Slice(2, None)) += 4;
  expect_equal(numbers(x), std::vector<double>{7, 1, 4, 0, 2, 4, 7, -1, 0});
}

TEST("a tensor of a vector's memory sees its changes") {
  std::vector<float> data{1, 2, 3};
  const Tensor x = from_blob(data.data(), {3});
  data[0] = 10;
  x(1) = 20;
  expect_equal(x.sum().item<double>(), 33.0);
  expect_equal(data[1], 20.0f);
}

TEST("numbers of many types become tensors") {
  expect_equal(tensor(std::vector<int16_t>{1}).dtype(), kShort);
  expect_equal(tensor(std::vector<double>{1}).dtype(), kDouble);
  expect_equal(tensor(std::array<float, 2>{1, 2}).shape(), Shape({2}));
  expect_equal(tensor({{1, 2}, {3, 4}}).dtype(), kLong);
  expect_equal(tensor(true).dtype(), kBool);
  expect_equal(tensor(std::vector<std::vector<float>>{{1, 2, 3}, {4, 5, 6}}).shape(), Shape({2, 3}));
}

TEST("conversions round and wrap as C++ does") {
  expect_equal(tensor({1.9, -1.9}).to(kInt).to_vector<int32_t>(), std::vector<int32_t>{1, -1});
  expect_equal(tensor({0.0, 2.0}).to(kBool).to_vector<bool>(), std::vector<bool>{false, true});
  expect_near(tensor({1.001}).to(kBFloat16).to(kFloat).item<double>(), 1.0, 1e-6);
}

TEST("a tensor prints as in PyTorch") {
  std::ostringstream out;
  out << tensor({{1.5, -2.0}, {3.0, 4.25}}) << " " << tensor({1, 2}) << " " << tensor(true) << " " << ones({2}).shape();
  expect_equal(out.str(), std::string("tensor([[ 1.5000, -2.0000],\n        [ 3.0000,  4.2500]]) tensor([1, 2]) "
                                      "tensor(True) [2]"));
}

TEST("integers divide in three ways") {
  const Tensor x = tensor({7, -7});
  expect_equal(numbers(x / 2), std::vector<double>{3.5, -3.5});
  expect_equal(numbers(div(x, 2, "floor")), std::vector<double>{3, -4});
  expect_equal(numbers(div(x, 2, "trunc")), std::vector<double>{3, -3});
  expect_equal(numbers(remainder(x, 4)), std::vector<double>{3, 1});
  expect_equal(numbers(fmod(x, 4)), std::vector<double>{3, -3});
}

TEST("bits") {
  const Tensor x = tensor({5, 6});
  expect_equal(numbers(x & 4), std::vector<double>{4, 4});
  expect_equal(numbers(x | 1), std::vector<double>{5, 7});
  expect_equal(numbers(x ^ 7), std::vector<double>{2, 1});
  expect_equal(numbers(~x), std::vector<double>{-6, -7});
  expect_equal(numbers(bitwise_left_shift(x, 1)), std::vector<double>{10, 12});
}

TEST("a seed gives the numbers again") {
  manual_seed(5);
  const Tensor a = randn({3});
  manual_seed(5);
  expect_equal(equal(randn({3}), a), true);
  Generator g(9), h = g.clone();
  expect_equal(equal(rand({4}, {.generator = g}), rand({4}, {.generator = h})), true);
}

TEST("a shuffle of rows, and a random half") {
  const Tensor x = arange(6).reshape({6, 1}), order = randperm(6);
  expect_equal(x.index_select(0, order).sum().item<int64_t>(), int64_t{15});
  const Tensor half = x.index_select(0, order.slice(0, 0, 3));
  expect_equal(half.size(0), 3);
}

TEST("a sample of a distribution over words") {
  const Tensor picks = multinomial(softmax(tensor({0.0, 100.0}), 0), 4, true);
  expect_equal(numbers(picks), std::vector<double>{1, 1, 1, 1});
}

TEST("top-p of logits: the smallest set of the likeliest") {
  const Tensor probabilities = tensor({0.5, 0.3, 0.15, 0.05});
  const auto [sorted, order] = sort(probabilities, 0, true);
  const Tensor is_kept = cumsum(sorted, 0) - sorted < 0.7;
  expect_equal(numbers(is_kept), std::vector<double>{1, 1, 0, 0});
}

TEST("errors name the operator and the shapes") {
  expect_error([] { ones({2, 3}) + ones({4}); }, "add");
  expect_error([] { matmul(ones({2, 3}), ones({2, 3})); }, "matmul");
  expect_error([] { ones({2})(5); }, "5");
  expect_error([] { ones({2, 3}).view({4}); }, "view");
  expect_error([] { cat({ones({2, 1}), ones({3, 2})}, 0); }, "cat");
}
