// Operators whose parameters make them the identity give a copy, or their argument, as PyTorch does.
#include <functional>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

using Function = std::function<Tensor(const Tensor&)>;

// By a write into the result: whether it is seen in the argument.
void expect_copy(const Function& f, const Tensor& x, SourceLocation at = SourceLocation::here()) {
  const std::vector<float> before = x.to_vector<float>();
  const Tensor y = f(x);
  expect_equal(y.numel().hint(), x.numel().hint(), at);
  y.add_(1.0);
  expect(x.to_vector<float>() == before, "it is its argument, or a view of it", at);
  const auto jitted = jit([f](Tensor given) { return f(given); });
  for (int i = 0; i < 2; ++i) {
    jitted(x).add_(1.0);
    expect(x.to_vector<float>() == before, "jitted it is a view of its argument", at);
  }
}

}  // namespace

TEST("nothing is moved, repeated or padded: a copy") {
  const Tensor row = arange(4.0), x = arange(12.0).reshape({3, 4}).clone(),
               image = arange(32.0).reshape({1, 2, 4, 4}).clone();
  expect_copy([](const Tensor& t) { return roll(t, 0); }, row);
  expect_copy([](const Tensor& t) { return roll(t, 12); }, x);
  expect_copy([](const Tensor& t) { return roll(t, {0, 3}, {1, 0}); }, x);
  expect_copy([](const Tensor& t) { return roll(t, {4}, {1}); }, x);
  expect_copy([](const Tensor& t) { return repeat_interleave(t, 1, 0); }, x);
  expect_copy([](const Tensor& t) { return repeat_interleave(t, 1); }, row);
  expect_copy([](const Tensor& t) { return repeat_interleave(t, 1); }, tensor(1.0));
  expect_copy([](const Tensor& t) { return t.repeat({1, 1}); }, x);
  expect_copy([](const Tensor& t) { return flip(t, Shape{}); }, x);
  for (const char* mode : {"constant", "reflect", "replicate", "circular"})
    expect_copy([mode](const Tensor& t) { return nn::pad(t, {0, 0}, mode); }, x);
  expect_copy([](const Tensor& t) { return nn::pixel_shuffle(t, 1); }, image);
  expect_copy([](const Tensor& t) { return nn::pixel_unshuffle(t, 1); }, image);
  expect_copy([](const Tensor& t) { return nn::pixel_shuffle(t, 2); }, arange(4.0).reshape({1, 4, 1, 1}).clone());
  expect_copy([](const Tensor& t) { return channel_shuffle(t, 1); }, image);
  expect_copy([](const Tensor& t) { return channel_shuffle(t, 2); }, image);
  expect_copy([](const Tensor& t) { return nn::unfold(t, 1); }, image);
  expect_copy([](const Tensor& t) { return cat({t}); }, x);
  expect_copy([](const Tensor& t) { return hstack({t}); }, x);
  expect_copy([](const Tensor& t) { return index_add(t, 0, zeros({0}, {.dtype = Dtype::i64}), zeros({0, 4})); }, x);
  // One element in several places of memory would be a view that overlaps itself.
  const Tensor once = repeat_interleave(arange(4.0).reshape({1, 4}), 3, 0);
  once(0).add_(1.0);
  expect_near(once.to_vector<float>(), {1, 2, 3, 4, 0, 1, 2, 3, 0, 1, 2, 3});
}

TEST("dropout that drops nothing, and an einsum that sums nothing, share memory") {
  const Tensor x = zeros({2, 3});
  expect(nn::dropout(x, 0.0).is_same(x) && nn::dropout(x, 0.5, false).is_same(x));
  einsum("ij->ij", {x}).add_(1.0);
  expect_near(x.to_vector<float>(), {1, 1, 1, 1, 1, 1});
}
