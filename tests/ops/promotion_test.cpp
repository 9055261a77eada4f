// Shapes and dtypes that operands have in common, as in PyTorch.
#include <fulgurite/fulgurite.h>

#include "ops/core/dispatch.h"
#include "support/test.h"

using namespace fulgurite;

namespace {

constexpr Dtype f64 = Dtype::f64, f32 = Dtype::f32, bf16 = Dtype::bf16, f16 = Dtype::f16, i64 = Dtype::i64,
                i32 = Dtype::i32, i16 = Dtype::i16, i8 = Dtype::i8, u8 = Dtype::u8, boolean = Dtype::boolean;
constexpr Dtype all_dtypes[] = {f64, f32, bf16, f16, i64, i32, i16, i8, u8, boolean};

Dtype result_of(const Operand& a, const Operand& b) {
  const Argument operands[] = {a, b};
  return result_dtype(operands);
}

// torch.promote_types
constexpr Dtype of_pairs[10][10] = {
    {f64, f64, f64, f64, f64, f64, f64, f64, f64, f64},        {f64, f32, f32, f32, f32, f32, f32, f32, f32, f32},
    {f64, f32, bf16, f32, bf16, bf16, bf16, bf16, bf16, bf16}, {f64, f32, f32, f16, f16, f16, f16, f16, f16, f16},
    {f64, f32, bf16, f16, i64, i64, i64, i64, i64, i64},       {f64, f32, bf16, f16, i64, i32, i32, i32, i32, i32},
    {f64, f32, bf16, f16, i64, i32, i16, i16, i16, i16},       {f64, f32, bf16, f16, i64, i32, i16, i8, i16, i8},
    {f64, f32, bf16, f16, i64, i32, i16, i16, u8, u8},         {f64, f32, bf16, f16, i64, i32, i16, i8, u8, boolean},
};

// torch.result_type of a tensor with dimensions (row) and one without (column).
constexpr Dtype with_scalars[10][10] = {
    {f64, f64, f64, f64, f64, f64, f64, f64, f64, f64},
    {f32, f32, f32, f32, f32, f32, f32, f32, f32, f32},
    {bf16, bf16, bf16, bf16, bf16, bf16, bf16, bf16, bf16, bf16},
    {f16, f16, f16, f16, f16, f16, f16, f16, f16, f16},
    {f64, f32, bf16, f16, i64, i64, i64, i64, i64, i64},
    {f64, f32, bf16, f16, i32, i32, i32, i32, i32, i32},
    {f64, f32, bf16, f16, i16, i16, i16, i16, i16, i16},
    {f64, f32, bf16, f16, i8, i8, i8, i8, i8, i8},
    {f64, f32, bf16, f16, u8, u8, u8, u8, u8, u8},
    {f64, f32, bf16, f16, i64, i32, i16, i8, u8, boolean},
};

}  // namespace

TEST("two tensors with dimensions promote as in PyTorch") {
  for (size_t i = 0; i < 10; ++i)
    for (size_t j = 0; j < 10; ++j) {
      const Tensor a = zeros({2}, {.dtype = all_dtypes[i]}), b = zeros({2}, {.dtype = all_dtypes[j]});
      expect_equal(result_of(a, b), of_pairs[i][j]);
      expect_equal(promote_types(all_dtypes[i], all_dtypes[j]), of_pairs[i][j]);
    }
}

TEST("a tensor without dimensions counts only where its category is higher") {
  for (size_t i = 0; i < 10; ++i)
    for (size_t j = 0; j < 10; ++j) {
      const Tensor a = zeros({2}, {.dtype = all_dtypes[i]}), b = zeros({}, {.dtype = all_dtypes[j]});
      expect_equal(result_of(a, b), with_scalars[i][j]);
      expect_equal(result_of(b, a), with_scalars[i][j]);
    }
}

TEST("a composite of three tensors promotes all of them together, in traces too") {
  const Tensor whole = zeros({}, {.dtype = Dtype::f64}), flags = ones({2}, {.dtype = Dtype::boolean}),
               number = ones({}, {.dtype = Dtype::i32});
  const auto product = [](Tensor a, Tensor b, Tensor c) { return addcmul(a, b, c); };
  const auto quotient = [](Tensor a, Tensor b, Tensor c) { return addcdiv(a, b, c); };
  expect_equal(product(whole, flags, number).dtype(), Dtype::f64);
  expect_equal(jit(product)(whole, flags, number).dtype(), Dtype::f64);
  expect_equal(quotient(whole, flags, number).dtype(), Dtype::f64);
  expect_equal(jit(quotient)(whole, flags, number).dtype(), Dtype::f64);
}

TEST("numbers count by category alone") {
  for (const Dtype dtype : all_dtypes)
    for (const Shape& shape : {Shape{2}, Shape{}}) {
      const Tensor a = zeros(shape, {.dtype = dtype});
      expect_equal(result_of(a, true), dtype);
      expect_equal(result_of(a, 1), is_boolean(dtype) ? i64 : dtype);
      expect_equal(result_of(a, 1.5), is_floating(dtype) ? dtype : f32);
    }
}

TEST("shapes broadcast from the right") {
  expect_equal(broadcast_shapes({2, 3}, {3}), Shape{2, 3});
  expect_equal(broadcast_shapes({2, 1, 3}, {4, 1}), Shape{2, 4, 3});
  expect_equal(broadcast_shapes({}, {2}), Shape{2});
  expect_equal(broadcast_shapes({0}, {1}), Shape{0});
  bool failed = false;
  try {
    broadcast_shapes({2, 3}, {4});
  } catch (const RuleError& error) {
    failed = true;
    expect_equal(error.message, "shapes [2, 3] and [4] do not broadcast: sizes 3 and 4 differ");
  }
  expect(failed);
}

TEST("a failed rule names the operator, its operands and the line") {
  const Tensor a = zeros({2, 3}), b = zeros({4}, {.dtype = i64});
  expect_error([&] { mul(a, b); }, "mul(cpu f32[2, 3], cpu i64[4]): shapes [2, 3] and [4] do not broadcast");
  expect_error([&] { mul(a, b); }, "promotion_test.cpp:");
  expect_error([&] { sum(a, 2); }, "sum(cpu f32[2, 3], [2]): dim 2 is out of range for 2 dimensions");
  expect_error([&] { mean(b); }, "the mean needs a floating dtype, not i64");
}

TEST("dims count from the front or the back") {
  expect_equal(normalize_dim(-1, 3), 2);
  expect_equal(normalize_dim(0, 0), 0);
  expect_equal(normalize_dim(-1, 0), 0);
}

TEST("xlogy computes in the dtype its operands have in common") {
  const Tensor halves = tensor({0.5, 2.0}).to(f16), bytes = tensor({3, 1}).to(u8);
  const Tensor result = xlogy(halves, bytes);
  expect_equal(result.dtype(), f16);
  expect_near(result.to(f32).to_vector<float>(), {0.5493f, 0}, 1e-3);
  expect_equal(xlogy(bytes, bytes).dtype(), f32);
}
