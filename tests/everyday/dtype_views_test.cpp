#include <cstdint>
#include <vector>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

// Views of a tensor's bytes with another dtype (torch.Tensor.view(dtype)).

namespace {

using Integers = std::vector<int64_t>;
Integers integers(const Tensor& x) { return x.to(Dtype::i64).contiguous().to_vector<int64_t>(); }

}  // namespace

TEST("everyday: the bits of floats as integers, and back") {
  const Tensor x = tensor({1.f, -2.f, 0.f});
  Tensor bits = x.view(Dtype::i32);
  expect_equal(integers(bits), Integers{0x3f800000, -0x40000000, 0});
  bits &= 0x7fffffff;  // the sign
  expect_equal(x.to_vector<float>(), std::vector<float>{1, 2, 0});
  expect_equal(view(bits, Dtype::f32).to_vector<float>(), std::vector<float>{1, 2, 0});
  expect_equal(x.t().view(Dtype::i32).dtype(), Dtype::i32);
  expect_equal(integers(tensor({1.f, 2.f}).to(Dtype::bf16).view(Dtype::i16)), Integers{0x3f80, 0x4000});
}

TEST("everyday: elements of another size change the last dimension") {
  const Tensor x = arange(6, {.dtype = Dtype::i32}).reshape({2, 3});
  const Tensor halves = x.view(Dtype::i16);
  expect_equal(halves.shape(), Shape{2, 6});
  expect_equal(integers(halves), Integers{0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0});
  expect_equal(halves.view(Dtype::i32).shape(), Shape{2, 3});
  const Tensor rows = arange(8, {.dtype = Dtype::u8}).reshape({2, 4})(Slice(), Slice(0, 2));
  expect_equal(integers(rows.view(Dtype::i16)), Integers{0x100, 0x504});
  expect_equal(zeros({0, 4}).view(Dtype::f64).shape(), Shape{0, 2});
}

TEST("everyday: a view with another dtype carries no gradient, and writes through it are seen") {
  const Tensor x = tensor({1.f, 2.f}).requires_grad_();
  expect(!x.view(Dtype::f16).requires_grad());
  const Tensor y = x * x;
  x.detach().view(Dtype::i32).zero_();
  expect_error(
      [&] { sum(y).backward(); },
      "a tensor needed for backward was changed in place: cpu f32[2], input 1 of MulBackward0, is at version 1 "
      "but was saved at version 0; write into a clone, or after backward()");
}

TEST("everyday: a view with another dtype in a jitted function") {
  const auto f = jit([](Tensor x) { return x.exp().view(Dtype::i32) & 0x7f800000; });
  const Tensor x = tensor({0.f, 1.f, 2.f});
  expect_equal(integers(f(x)), Integers{0x3f800000, 0x40000000, 0x40800000});
  expect_equal(integers(f(x)), integers(x.exp().view(Dtype::i32) & 0x7f800000));
  const auto shared = jit([](Tensor a, Tensor b) {
    b += 1;
    return a + 0;
  });
  const Tensor words = arange(3, {.dtype = Dtype::i32});
  expect_error([&] { shared(words, words.view(Dtype::i16)); },
               "the jitted function writes into t_1, which shares memory with t_0; pass a clone of one of them");
  expect_equal(integers(words), Integers{0, 1, 2});
}

TEST("everyday: views with another dtype that there cannot be") {
  expect_error([] { tensor(1.f).view(Dtype::i16); },
               "view(i16) of cpu f32[]: a tensor of 0 dimensions has none that could become longer or shorter; call "
               "unsqueeze(-1)");
  expect_error(
      [] {
        zeros({2, 3}).view(Dtype::f64);
      },
      "view(f64) of cpu f32[2, 3]: the 12 bytes of the last dimension are no multiple of 8");
  expect_error(
      [] {
        zeros({2, 4}).t().view(Dtype::i16);
      },
      "view(i16) of cpu f32[4, 2]: the last dimension is not contiguous; call contiguous()");
  expect_error(
      [] {
        zeros({2, 3})(Slice(), Slice(0, 2)).view(Dtype::f64);
      },
      "view(f64) of cpu f32[2, 2]: dimension 0 has a stride of 12 bytes, no multiple of 8; call contiguous()");
  expect_error([] { zeros({5})(Slice(1, 5)).view(Dtype::f64); },
               "view(f64) of cpu f32[4]: the first element has the offset 4 bytes, no multiple of 8; call clone()");
  expect_error([] { zeros({2}).view(Dtype::boolean); },
               "view(bool) of cpu f32[2]: bytes other than 0 and 1 are not bools; compare them: x != 0");
  expect_error([] { Tensor().view(Dtype::i32); }, "view(dtype) of an undefined tensor");
}
