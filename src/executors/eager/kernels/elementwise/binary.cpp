// Divisions that are rounded down, and powers; the formulas of their records cover the other calls.
#include <cmath>

#include "codegen/device_lib/angles.h"
#include "executors/eager/kernels.h"
#include "executors/eager/kernels/common/double_math.h"
#include "executors/eager/kernels/common/rows.h"
#include "executors/eager/kernels/elementwise/division.h"
#include "executors/eager/kernels/elementwise/formula.h"
#include "ops/generated/symbols.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

struct DivideFloor {
  FULGURITE_LANES apply(const Floats& a, const Floats& b, const RowParameters&) {
    // As below, lane by lane.
    const Floats zero(0.f), modulus = fmod(a, b), quotient = a / b;
    Floats value = (a - modulus) / b;
    const Ints is_lower = (modulus != zero) & ((b < zero) ^ (modulus < zero));
    value = select(is_lower, value - Floats(1.f), value);
    const Floats rounded = floor(value);
    Floats result = select(value - rounded > Floats(0.5f), rounded + Floats(1.f), rounded);
    result = select(value == zero, copy_sign(zero, quotient), result);
    return select(b == zero, quotient, result);
  }
  template <Number T>
  requires std::is_same_v<T, double>
  static T apply(T a, T b, const RowParameters&) {
    // As in Python: exact where the rounded quotient would be one too large.
    if (b == 0) return a / b;
    const T modulus = std::fmod(a, b);
    T value = (a - modulus) / b;
    if (modulus != 0 && (b < 0) != (modulus < 0)) value -= 1;
    if (value == 0) return std::copysign(T(0), a / b);
    const T rounded = std::floor(value);
    return value - rounded > T(0.5) ? rounded + 1 : rounded;
  }
  template <Integer T>
  static T apply(T a, T b, const RowParameters& p) {
    const T value = quotient(a, b, p);
    return b != 0 && b != -1 && a % b != 0 && (a < 0) != (b < 0) ? value - 1 : value;
  }
};
struct Remainder {
  FULGURITE_LANES apply(const Floats& a, const Floats& b, const RowParameters&) {
    const Floats zero(0.f), value = fmod(a, b);
    return select((value != zero) & ((b < zero) ^ (value < zero)), value + b, value);
  }
  template <Number T>
  static T apply(T a, T b, const RowParameters& p) {
    const T value = Fmod::apply(a, b, p);
    return value != 0 && (b < 0) != (value < 0) ? value + b : value;
  }
};
struct Power {
  static float apply(float a, float b, const RowParameters&) { return power_of_floats(a, b); }
  static double apply(double a, double b, const RowParameters&) { return std::pow(a, b); }
  template <Integer T>
  static T apply(T base, T exponent, const RowParameters&) {
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
    Unsigned<T> value = 1, factor = static_cast<Unsigned<T>>(base);
    for (T rest = exponent; rest > 0; rest /= 2) {
      if (rest % 2) value *= factor;
      factor *= factor;
    }
    return static_cast<T>(value);
  }
};
/// Rounds a number as an element of the dtype is rounded.
Argument as_element(const Argument& operand, Dtype dtype) {
  if (!operand.is_number() || size_of(dtype) != 2 || !is_floating(dtype)) return operand;
  const float number = static_cast<float>(operand.floating().hint());
  uint16_t element;
  float rounded;
  find_conversion(Dtype::f32, dtype)(&number, 0, &element, 1);
  find_conversion(dtype, Dtype::f32)(&element, 0, &rounded, 1);
  return Float(rounded);
}
void run_division(Row row, Arguments arguments, const Tensor& result) {
  Pointwise division = uniform(row, result.impl()->dtype, very_costly);
  division.can_divide_by_zero = true;
  run_pointwise(division, {&arguments[0], &arguments[1]}, result);
}
template <class Operation>
void modulus(Arguments arguments, std::span<const Tensor> results) {
  const Dtype dtype = results[0].impl()->dtype;
  // As in PyTorch: a slightly different divisor moves the steps of the result, so a scalar is rounded as a tensor is.
  const Argument operands[] = {as_element(arguments[0], dtype), as_element(arguments[1], dtype)};
  run_division(find_binary_row<Operation>(dtype), operands, results[0]);
}
void truncated_modulus(Arguments arguments, std::span<const Tensor> results) {
  if (!run_formula<fmod_symbol>(arguments, results)) modulus<Fmod>(arguments, results);
}
void divide(Arguments arguments, std::span<const Tensor> results) {
  if (run_formula<div_symbol>(arguments, results)) return;
  run_division(find_binary_row<DivideFloor>(results[0].impl()->dtype), arguments, results[0]);
}
void power(Arguments arguments, std::span<const Tensor> results) {
  if (run_formula<pow_symbol>(arguments, results)) return;
  const Dtype dtype = results[0].impl()->dtype;
  run_pointwise(uniform(find_binary_row<Power>(dtype), dtype, very_costly), {&arguments[0], &arguments[1]}, results[0]);
}

constexpr KernelEntry table[] = {
    {&div_symbol, divide},
    {&pow_symbol, power},
    {&remainder_symbol, modulus<Remainder>},
    {&fmod_symbol, truncated_modulus},
};

}  // namespace

KernelTable binary_kernels() { return table; }

}  // namespace fulgurite::FULGURITE_KERNELS
