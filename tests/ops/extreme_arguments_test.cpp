// Numbers at the ends of i64, and dtypes that do not go together.
#include <cmath>
#include <limits>

#include <fulgurite/fulgurite.h>

#include "support/cases/wrong_calls.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

constexpr int64_t most = std::numeric_limits<int64_t>::max();

}  // namespace

TEST("the largest integers are answered or refused") {
  const Tensor x = reshape(arange(0, 20, 1, {.dtype = Dtype::f32}), {4, 5});
  expect_equal(chunk(x, most).size(), size_t{4});
  expect_equal(unfold(x, 1, 5, most).shape(), Shape({4, 1, 5}));
  expect_equal(sum(triu(x, most)).item<float>(), 0.0f);
  expect_equal(tril(x, most).to_vector<float>(), x.to_vector<float>());
  expect_equal(sum(tril(x, -most)).item<float>(), 0.0f);
  expect_equal(zeros({0, most, most}).numel().hint(), int64_t{0});
  expect_equal(zeros({most, most, 0}).numel().hint(), int64_t{0});
  const std::string said = messages({
      {"torch.split", {reals({4}), {3, most}}},
      {"torch.chunk", {reals({0}), most}},
      {"torch.Tensor.expand", {reals({1}), {3, 2, -3}}},
  });
  expect_text(said, R"(
split(cpu f32[4], [3, 9223372036854775807]): a size or a count of elements does not fit 64 bits
chunk(cpu f32[0], 9223372036854775807): there are no 9223372036854775807 pieces of a dimension of size 0
expand(cpu f32[1], [3, 2, -3]): a size is negative: [3, 2, -3]
)");
}

TEST("triangles with the largest diagonals do not depend on requires_grad") {
  const Tensor plain = ones({4, 6}), leaf = ones({4, 6}).requires_grad_();
  const auto kept = [](const Tensor& x) { return sum(x.detach() != 0.0).item<int64_t>(); };
  for (const int64_t diagonal : {most, -most, -most - 1, most / 2 + 1}) {
    const int64_t low = diagonal > 0 ? 24 : 0;
    for (const Tensor& x : {plain, leaf}) {
      expect_equal(kept(tril(x, diagonal)), low);
      expect_equal(kept(triu(x, diagonal)), 24 - low);
    }
    const auto jitted =
        jit([](Tensor x, Int d) { return std::pair(tril(x, d), triu(x, d)); }, {.cache = Cache::symbolic_values});
    jitted(leaf, 1);
    jitted(leaf, 2);
    const auto [lower, upper] = jitted(leaf, diagonal);
    expect_equal(kept(lower), low);
    expect_equal(kept(upper), 24 - low);
  }
}

TEST("a negative eps brings nothing into bounds") {
  const Tensor odds = logit(tensor({1.5, -0.5, 0.5, 1.0}), -1.0);
  expect_equal(isnan(odds).to_vector<bool>(), std::vector<bool>{true, true, false, false});
  expect_equal(logit(tensor({1.5, -0.5, 0.5, 1.0}), 0.0).to_vector<float>(),
               std::vector<float>{INFINITY, -INFINITY, 0, INFINITY});
}

TEST("a loss's class weights have the input's dtype") {
  const std::string said = messages({
      {"torch.nn.functional.nll_loss", {reals({4, 3}), whole({4}), ones({3}, {.dtype = Dtype::i8})}},
      {"torch.nn.functional.cross_entropy", {reals({4, 3}), whole({4}), ones({3}, {.dtype = Dtype::boolean})}},
      {"torch.nn.functional.nll_loss", {reals({4, 3}), whole({4}), ones({3}, {.dtype = Dtype::f64})}},
      {"prims.nll_loss_backward", {reals({}), whole({4}), ones({3}, {.dtype = Dtype::i8}), 3, 1, "mean"}},
  });
  expect_text(said, R"(
nll_loss(cpu f32[4, 3], cpu i64[4], cpu i8[3]): weight is i8, input is f32
cross_entropy(cpu f32[4, 3], cpu i64[4], cpu bool[3]): weight is bool, input is f32
nll_loss(cpu f32[4, 3], cpu i64[4], cpu f64[3]): weight is f64, input is f32
nll_loss_backward(cpu f32[], cpu i64[4], cpu i8[3], 3, 1, 'mean'): weight is i8, grad is f32
)");
}
