// Pointwise arithmetic of two operands.
#include <cmath>

#include "codegen/device_lib/angles.h"
#include "executors/eager/kernels.h"
#include "executors/eager/kernels/common/double_math.h"
#include "executors/eager/kernels/common/rows.h"
#include "ops/generated/symbols.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

#define FULGURITE_ARITHMETIC(Name, floating_value, integer_value)                                      \
  struct Name {                                                                                        \
    FULGURITE_LANES apply(const Floats& a, const Floats& b, [[maybe_unused]] const RowParameters& p) { \
      using T [[maybe_unused]] = float;                                                                \
      using Lanes [[maybe_unused]] = Floats;                                                           \
      return floating_value;                                                                           \
    }                                                                                                  \
    static double apply(double a, double b, [[maybe_unused]] const RowParameters& p) {                 \
      using T [[maybe_unused]] = double;                                                               \
      using Lanes [[maybe_unused]] = double;                                                           \
      return floating_value;                                                                           \
    }                                                                                                  \
    template <Integer T>                                                                               \
    static T apply(T x, T y, [[maybe_unused]] const RowParameters& p) {                                \
      const auto a = static_cast<Unsigned<T>>(x), b = static_cast<Unsigned<T>>(y);                     \
      return static_cast<T>(integer_value);                                                            \
    }                                                                                                  \
  };
FULGURITE_ARITHMETIC(Add, a + b, a + b)
FULGURITE_ARITHMETIC(Sub, a - b, a - b)
FULGURITE_ARITHMETIC(Mul, a* b, a* b)
FULGURITE_ARITHMETIC(AddScaled, multiply_add(Lanes(static_cast<T>(p.number)), b, a),
                     a + static_cast<Unsigned<T>>(p.integer) * b)
FULGURITE_ARITHMETIC(SubScaled, multiply_add(Lanes(static_cast<T>(-p.number)), b, a),
                     a - static_cast<Unsigned<T>>(p.integer) * b)
#undef FULGURITE_ARITHMETIC

struct Divide {
  FULGURITE_LANES apply(const Floats& a, const Floats& b, const RowParameters&) { return a / b; }
  static double apply(double a, double b, const RowParameters&) { return a / b; }
};

/// The integer quotient rounded toward zero; the smallest number by -1 wraps, and a zero divisor is reported after the
/// loop.
template <Integer T>
bool is_divisible(T b, const RowParameters& p) {
  if (b == 0) __atomic_store_n(p.divided_by_zero, true, __ATOMIC_RELAXED);
  return b != 0 && b != -1;
}
template <Integer T>
T quotient(T a, T b, const RowParameters& p) {
  if (!is_divisible(b, p)) return static_cast<T>(0 - static_cast<Unsigned<T>>(a));
  return a / b;
}
template <Integer T>
T rest(T a, T b, const RowParameters& p) {
  return is_divisible(b, p) ? a % b : T(0);
}

struct DivideTruncated {
  FULGURITE_LANES apply(const Floats& a, const Floats& b, const RowParameters&) { return trunc(a / b); }
  static double apply(double a, double b, const RowParameters&) { return std::trunc(a / b); }
  template <Integer T>
  static T apply(T a, T b, const RowParameters& p) {
    return quotient(a, b, p);
  }
};
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
struct Fmod {
  FULGURITE_LANES apply(const Floats& a, const Floats& b, const RowParameters&) { return fmod(a, b); }
  static double apply(double a, double b, const RowParameters&) { return std::fmod(a, b); }
  template <Integer T>
  static T apply(T a, T b, const RowParameters& p) {
    return rest(a, b, p);
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
struct Atan2 {
  FULGURITE_LANES apply(const Floats& a, const Floats& b, const RowParameters&) { return atan2(a, b); }
  static double apply(double a, double b, const RowParameters&) { return std::atan2(a, b); }
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
// The exponents that are common in programs.
FULGURITE_INLINE Floats root_of(const Floats& x) { return sqrt(x); }
FULGURITE_INLINE double root_of(double x) { return std::sqrt(x); }
template <int twice_exponent>
struct FixedPower {
  template <class T>
  static inline __attribute__((always_inline)) T value(const T& x) {
    const T one(1);
    if constexpr (twice_exponent == 1) return root_of(x);
    else if constexpr (twice_exponent == -1) return one / root_of(x);
    else if constexpr (twice_exponent == -2) return one / x;
    else if constexpr (twice_exponent == -4) return one / (x * x);
    else if constexpr (twice_exponent == 4) return x * x;
    else if constexpr (twice_exponent == 6) return x * x * x;
    else return x;
  }
  FULGURITE_LANES apply(const Floats& x, const RowParameters&) { return value(x); }
  static double apply(double x, const RowParameters&) { return value(x); }
};

void run_binary(Row row, Arguments arguments, const Tensor& result, int64_t grain = cheap,
                RowParameters parameters = {}) {
  run_pointwise(uniform(row, result.impl()->dtype, grain), {&arguments[0], &arguments[1]}, result, parameters);
}
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
void run_division(Row row, Arguments arguments, const Tensor& result, int64_t grain) {
  Pointwise division = uniform(row, result.impl()->dtype, grain);
  division.can_divide_by_zero = true;
  run_pointwise(division, {&arguments[0], &arguments[1]}, result);
}
template <class Operation, int64_t grain = cheap>
void arithmetic(Arguments arguments, std::span<const Tensor> results) {
  run_binary(find_binary_row<Operation>(results[0].impl()->dtype), arguments, results[0], grain);
}
template <class Operation>
void modulus(Arguments arguments, std::span<const Tensor> results) {
  const Dtype dtype = results[0].impl()->dtype;
  // As in PyTorch: a slightly different divisor moves the steps of the result, so a scalar is rounded as a tensor is.
  const Argument operands[] = {as_element(arguments[0], dtype), as_element(arguments[1], dtype)};
  run_division(find_binary_row<Operation>(dtype), operands, results[0], very_costly);
}
template <class Plain, class Scaled>
void with_alpha(Arguments arguments, std::span<const Tensor> results) {
  const Argument& alpha = arguments[2];
  RowParameters parameters;
  parameters.number = alpha.floating().hint();
  if (!alpha.is_floating()) parameters.integer = alpha.integer().hint();
  const Dtype dtype = results[0].impl()->dtype;
  run_binary(parameters.number == 1 ? find_binary_row<Plain>(dtype) : find_binary_row<Scaled>(dtype), arguments,
             results[0], cheap, parameters);
}
void divide(Arguments arguments, std::span<const Tensor> results) {
  const Dtype dtype = results[0].impl()->dtype;
  if (arguments[2].is_none()) return run_binary(find_floating_binary_row<Divide>(dtype), arguments, results[0]);
  if (arguments[2].string() == "trunc")
    return run_division(find_binary_row<DivideTruncated>(dtype), arguments, results[0], cheap);
  run_division(find_binary_row<DivideFloor>(dtype), arguments, results[0], very_costly);
}
void atan2(Arguments arguments, std::span<const Tensor> results) {
  run_binary(find_floating_binary_row<Atan2>(results[0].impl()->dtype), arguments, results[0], costly);
}

Row find_fixed_power(double exponent, Dtype dtype) {
  if (exponent == 0.5) return find_floating_unary_row<FixedPower<1>>(dtype);
  if (exponent == -0.5) return find_floating_unary_row<FixedPower<-1>>(dtype);
  if (exponent == -1) return find_floating_unary_row<FixedPower<-2>>(dtype);
  if (exponent == -2) return find_floating_unary_row<FixedPower<-4>>(dtype);
  if (exponent == 1) return find_floating_unary_row<FixedPower<2>>(dtype);
  if (exponent == 2) return find_floating_unary_row<FixedPower<4>>(dtype);
  if (exponent == 3) return find_floating_unary_row<FixedPower<6>>(dtype);
  return nullptr;
}
void power(Arguments arguments, std::span<const Tensor> results) {
  const Dtype dtype = results[0].impl()->dtype;
  if (is_floating(dtype) && !arguments[1].is_tensor())
    if (const Row row = find_fixed_power(arguments[1].floating().hint(), dtype))
      return run_pointwise(uniform(row, dtype), {&arguments[0]}, results[0]);
  run_binary(find_binary_row<Power>(dtype), arguments, results[0], very_costly);
}

constexpr KernelEntry table[] = {
    {&add_symbol, with_alpha<Add, AddScaled>},
    {&sub_symbol, with_alpha<Sub, SubScaled>},
    {&mul_symbol, arithmetic<Mul>},
    {&div_symbol, divide},
    {&pow_symbol, power},
    {&maximum_symbol, arithmetic<Maximum>},
    {&minimum_symbol, arithmetic<Minimum>},
    {&remainder_symbol, modulus<Remainder>},
    {&fmod_symbol, modulus<Fmod>},
    {&atan2_symbol, atan2},
    {&clamp_min_symbol, arithmetic<Maximum>},
    {&clamp_max_symbol, arithmetic<Minimum>},
};

}  // namespace

KernelTable binary_kernels() { return table; }

}  // namespace fulgurite::FULGURITE_KERNELS
