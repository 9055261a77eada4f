// The neighbour of a floating-point number, by exact arithmetic.
#include <fulgurite/autograd_modes.h>
#include <fulgurite/error.h>
#include <fulgurite/libtorch_names.h>
#include <fulgurite/numeric_functions.h>
#include <fulgurite/torch_functions.h>

#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

namespace {

/// The digits of a dtype's significand, and the exponent of its smallest number.
struct Precision {
  int64_t digits, least;
};
Precision precision_of(Dtype dtype) {
  if (dtype == Dtype::f64) return {53, -1074};
  if (dtype == Dtype::f32) return {24, -149};
  if (dtype == Dtype::bf16) return {8, -133};
  return {11, -24};
}

/// 2^exponent, by two factors: exp2 itself may not give numbers below the normal ones.
Tensor power_of_two(const Tensor& exponent, SourceLocation at) {
  const Tensor half = floor(mul(exponent, 0.5, at), at), rest = sub(exponent, half, 1, at);
  const Tensor first = exp2(half, at), second = exp2(rest, at);
  return mul(first, second, at);
}

/// The distance to the neighbour, on the side of zero where `is_inward` holds: it is half as large below a power of 2.
Tensor spacing(const Tensor& x, const Tensor& is_inward, Precision precision, SourceLocation at) {
  const auto [fraction, exponent] = frexp(x, at);
  const Tensor is_power = eq(abs(fraction, at), 0.5, at);
  const Tensor is_closer = logical_and(is_power, is_inward, at).to(Dtype::f64, at);
  const Tensor last_digit = sub(exponent.to(Dtype::f64, at), static_cast<double>(precision.digits), 1, at);
  const Tensor place = sub(last_digit, is_closer, 1, at);
  const Tensor is_zero = eq(x, 0, at);
  const double least = static_cast<double>(precision.least);
  return power_of_two(where(is_zero, least, clamp_min(place, least, at), at), at);
}

/// The largest finite number.
Tensor largest(Precision precision, Dtype dtype, SourceLocation at) {
  const double top = dtype == Dtype::f16 ? 16 : dtype == Dtype::f64 ? 1024 : 128;
  const double digits = static_cast<double>(precision.digits);
  const Tensor half = full({}, top - 1, {.dtype = Dtype::f64}, at);
  const Tensor last = full({}, 1 - digits, {.dtype = Dtype::f64}, at);
  const Tensor one_step_below_two = sub(2, power_of_two(last, at), 1, at);
  return mul(power_of_two(half, at), one_step_below_two, at);
}

void check_numbers(const Tensor& input, const Tensor& other, SourceLocation at) {
  for (const Tensor* x : {&input, &other}) {
    if (!x->defined()) throw UserError("nextafter: a tensor is undefined", at);
    if (!is_floating(x->dtype()))
      throw UserError(text::cat("nextafter: the tensors are floating, not ", type_text(*x)), at);
  }
}

/// The value, with the gradient of `source` where the mask holds. Adding -0 changes no number, not even -0.
Tensor with_gradient_of(const Tensor& source, const Tensor& mask, const Tensor& value, SourceLocation at) {
  const Tensor kept = where(mask, source, 0, at);
  const Tensor negative_zero = neg(sub(kept.detach(at), kept, 1, at), at);
  return add(value, negative_zero, 1, at);
}

}  // namespace

// All numbers of the dtype and the steps between them are f64, so that the sum is exact.
Tensor nextafter(const Tensor& input, const Tensor& other, SourceLocation at) {
  check_numbers(input, other, at);
  const Dtype dtype = result_type(input, other, at);
  const Precision precision = precision_of(dtype);
  const Tensor given = input.to(dtype, at).detach(at), towards = other.to(dtype, at).detach(at);
  const Tensor x = given.to(Dtype::f64, at), goal = towards.to(Dtype::f64, at);
  const Tensor is_up = gt(goal, x, at);
  const Tensor sign = where(is_up, 1.0, -1.0, at).to(Dtype::f64, at);
  const Tensor is_inward = lt(mul(sign, x, at), 0, at);
  const Tensor is_infinite = isinf(x, at);
  const Tensor finite = where(is_infinite, 0.0, x, at);
  const Tensor step = mul(spacing(finite, is_inward, precision, at), sign, at);
  const Tensor sum = add(finite, step, 1, at);
  const Tensor moved = where(eq(sum, 0, at), mul(finite, 0, at), sum, at);  // -0 for a negative number
  const Tensor back = neg(mul(sign, largest(precision, dtype, at), at), at);
  const Tensor next = where(is_infinite, back, moved, at);
  const Tensor found = where(eq(x, goal, at), goal, next, at);
  const Tensor has_nan = logical_or(isnan(x, at), isnan(goal, at), at);
  const Tensor value = where(has_nan, add(x, goal, 1, at), found, at);
  if (!is_grad_enabled() || !input.requires_grad()) return value.to(dtype, at);
  const Tensor follows = logical_and(isfinite(x, at), ne(x, goal, at), at);
  return with_gradient_of(input.to(dtype, at).to(Dtype::f64, at), follows, value, at).to(dtype, at);
}

}  // namespace fulgurite
