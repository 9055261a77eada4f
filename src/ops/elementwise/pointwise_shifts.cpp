// Shifts of integers by bits.
#include <fulgurite/operators.h>

#include "ops/core/families.h"
#include "ops/core/precision.h"
#include "ops/elementwise/pointwise_rules.h"
#include "ops/generated/symbols.h"

namespace fulgurite {

namespace {

void infer_shift(Arguments a, InferredTypes& types) {
  infer_bitwise(a, types);
  require(types[0].dtype != Dtype::boolean, "not defined for booleans");
}

/// a * 2^b or a / 2^b rounded down; shifts past the width equal repeated shifts by one.
Tensor shifted(Arguments a, bool left, SourceLocation at) {
  InferredTypes types;
  infer_shift(a, types);
  const Dtype dtype = types[0].dtype;
  const int64_t bits = size_of(dtype) * 8;
  const Tensor any = a[0].is_tensor() ? a[0].tensor() : a[1].tensor();
  const Tensor given = as_tensor(a[0], any, dtype, at);
  const Tensor x = as_dtype(given, dtype, at);
  const Tensor given_count = as_tensor(a[1], any, dtype, at);
  const Tensor count = as_dtype(given_count, dtype, at);
  const Tensor is_low = lt(count, 0, at);
  const Tensor is_high = ge(count, bits, at);
  const Tensor is_out = logical_or(is_low, is_high, at);
  const Tensor harmless = where(is_out, 0, count, at);
  const Tensor power = pow(2, harmless, at);
  const Tensor factor = as_dtype(power, dtype, at);
  if (left) {
    const Tensor product = mul(x, factor, at);
    return where(is_out, 0, product, at);
  }
  const Tensor quotient = div(x, factor, "floor", at);
  // The top bit's power of two is negative in a signed type: only the sign remains.
  const Tensor is_top = eq(count, bits - 1, at);
  const Tensor is_gone = logical_or(is_out, is_top, at);
  const Tensor below = lt(x, 0, at);
  const Tensor ones = prims::convert_element_type(below, dtype, at);
  const Tensor sign = neg(ones, at);
  return where(is_gone, sign, quotient, at);
}

}  // namespace

constinit const Symbol bitwise_left_shift_symbol{
    .signature = "torch.bitwise_left_shift(Operand input, Operand other) -> Tensor",
    .documentation = "input moved left by other bits.",
    .infer = infer_shift,
    .decompose = [](Arguments a, Results& out, SourceLocation at) { out.push_back(shifted(a, true, at)); },
    .traits = {.pointwise = true, .not_differentiable = true},
};

constinit const Symbol bitwise_right_shift_symbol{
    .signature = "torch.bitwise_right_shift(Operand input, Operand other) -> Tensor",
    .documentation = "input moved right by other bits; the sign is kept.",
    .infer = infer_shift,
    .decompose = [](Arguments a, Results& out, SourceLocation at) { out.push_back(shifted(a, false, at)); },
    .traits = {.pointwise = true, .not_differentiable = true},
};

SymbolList pointwise_shift_symbols() {
  static constexpr const Symbol* list[] = {&bitwise_left_shift_symbol, &bitwise_right_shift_symbol};
  return list;
}

}  // namespace fulgurite
