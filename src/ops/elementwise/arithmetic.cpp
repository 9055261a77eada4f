// Pointwise arithmetic of two operands, promoted and broadcast.
#include <cmath>

#include <fulgurite/operators.h>

#include "ops/core/families.h"
#include "ops/elementwise/pointwise_rules.h"
#include "ops/generated/symbols.h"

namespace fulgurite {

namespace {

bool is_one(const Argument& a) {
  if (a.is_integer()) return !a.integer().is_symbolic() && a.integer().hint() == 1;
  return a.is_floating() && !a.floating().is_symbolic() && a.floating().hint() == 1;
}

void infer_with_alpha(Arguments a, InferredTypes& types) {
  infer_promoted(a, types);
  require(a[2].is_number(), "alpha must be a number");
  require(is_floating(types[0].dtype) || !a[2].is_floating(), "alpha must be an integer for operands of ",
          types[0].dtype);
  if (!is_floating(types[0].dtype)) require_fits("alpha", a[2], types[0].dtype);
}

/// The cotangent, zeroed where `condition` holds.
Tensor cleared(const Tensor& cotangent, const Tensor& condition) { return where(condition, 0, cotangent); }

void gradient_of_power(Gradient& g) {
  const Operand base = g.argument(0).operand(), exponent = g.argument(1).operand();
  if (g.needs(0)) {
    if (g.argument(1).is_number()) {
      const Float n = g.argument(1).floating();
      if (n == 0) {
        g.set(0, zeros_of(g.tensor(0)));
      } else if (is_one(g.argument(1))) {
        g.set(0, g.cotangent());
      } else {
        // An integer exponent stays an integer, so that powers of integers by integers print unchanged.
        const Operand less_one = g.argument(1).is_floating() ? Operand(n - 1) : Operand(g.argument(1).integer() - 1);
        const Tensor lower = pow(base, less_one);
        const Tensor slope = mul(lower, exponent);
        g.set(0, mul(g.cotangent(), slope));
      }
    } else {
      const Tensor less_one = sub(exponent, 1);
      const Tensor lower = pow(base, less_one);
      const Tensor slope = mul(lower, exponent);
      const Tensor cotangent = mul(g.cotangent(), slope);
      const Tensor constant = eq(g.tensor(1), 0);
      g.set(0, cleared(cotangent, constant));
    }
  }
  if (g.needs(1)) {
    // 0 to the power n is constant in n for n >= 0, though log(0) is not finite.
    if (g.argument(0).is_number()) {
      const Float b = g.argument(0).floating();
      if (b == 0) {
        const Tensor slope = mul(g.result(), -INFINITY);
        const Tensor cotangent = mul(g.cotangent(), slope);
        const Tensor flat = ge(g.tensor(1), 0);
        g.set(1, cleared(cotangent, flat));
      } else {
        const Tensor slope = mul(g.result(), std::log(static_cast<double>(b)));
        g.set(1, mul(g.cotangent(), slope));
      }
    } else {
      const Tensor logarithm = log(g.tensor(0));
      const Tensor slope = mul(g.result(), logarithm);
      const Tensor cotangent = mul(g.cotangent(), slope);
      const Tensor zero_base = eq(g.tensor(0), 0);
      const Tensor not_negative = ge(g.tensor(1), 0);
      const Tensor flat = logical_and(zero_base, not_negative);
      g.set(1, cleared(cotangent, flat));
    }
  }
}

// x - n * y, where n is the rounded quotient, whose slope is zero.
void gradient_of_modulus(Gradient& g, std::string_view rounding) {
  if (g.needs(0)) g.set(0, g.cotangent());
  if (g.needs(1)) {
    const Tensor quotient = div(g.argument(0).operand(), g.argument(1).operand(), rounding);
    const Tensor slope = neg(quotient);
    g.set(1, mul(g.cotangent(), slope));
  }
}

}  // namespace

namespace {

ScalarFormula sum_formula(Arguments a, Dtype result) {
  if (a[2].floating().hint() == 1) return "input + other";
  if (!is_floating(result)) return "alpha * other + input";
  return "multiply_add(alpha, other, input)";
}
ScalarFormula difference_formula(Arguments a, Dtype result) {
  if (a[2].floating().hint() == 1) return "input - other";
  if (!is_floating(result)) return "input - alpha * other";
  return "multiply_add(-alpha, other, input)";
}

ScalarFormula quotient_formula(Arguments a, Dtype) {
  if (a[2].is_none()) return "input / other";
  if (a[2].string() == "trunc") return "trunc(input / other)";
  return {};
}

ScalarFormula remainder_formula(Arguments a, Dtype result) {
  // A number is rounded to the result's dtype, which a formula in f32 would not do.
  if (size_of(result) == 2 && a[1].is_number()) return {};
  return "fmod(input, other)";
}

/// The exponents for which eager mode computes no power.
ScalarFormula power_formula(Arguments a, Dtype result) {
  if (a[1].is_tensor() || !is_floating(result)) return {};
  const double exponent = a[1].floating().hint();
  if (exponent == 0.5) return "sqrt(input)";
  if (exponent == -0.5) return "1 / sqrt(input)";
  if (exponent == -1) return "1 / input";
  if (exponent == -2) return "1 / (input * input)";
  if (exponent == 1) return "input";
  if (exponent == 2) return "input * input";
  if (exponent == 3) return "input * input * input";
  return {};
}

}  // namespace

constinit const Symbol add_symbol{
    .signature = "torch.add(Operand input, Operand other, *, Operand alpha=1) -> Tensor",
    .documentation = "input + alpha * other; of booleans the logical or.",
    .infer = infer_with_alpha,
    .gradient =
        [](Gradient& g) {
          if (g.needs(0)) g.set(0, g.cotangent());
          if (g.needs(1)) g.set(1, is_one(g.argument(2)) ? g.cotangent() : mul(g.cotangent(), g.argument(2).operand()));
        },
    .scalar = sum_formula,
    .traits = {.pointwise = true},
    .semantics = {.linearity = Linearity::sum},
};

constinit const Symbol sub_symbol{
    .signature = "torch.sub(Operand input, Operand other, *, Operand alpha=1) -> Tensor",
    .documentation = "input - alpha * other.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          infer_with_alpha(a, types);
          require(!is_boolean(types[0].dtype), "not defined for booleans; use logical_xor or bitwise_xor");
        },
    .gradient =
        [](Gradient& g) {
          if (g.needs(0)) g.set(0, g.cotangent());
          if (g.needs(1)) {
            const Tensor negative = neg(g.cotangent());
            g.set(1, is_one(g.argument(2)) ? negative : mul(negative, g.argument(2).operand()));
          }
        },
    .scalar = difference_formula,
    .traits = {.pointwise = true},
    .semantics = {.linearity = Linearity::difference},
};

constinit const Symbol mul_symbol{
    .signature = "torch.mul(Operand input, Operand other) -> Tensor",
    .documentation = "input * other; of booleans the logical and.",
    .infer = infer_promoted,
    .gradient =
        [](Gradient& g) {
          if (g.needs(0)) g.set(0, mul(g.cotangent(), g.argument(1).operand()));
          if (g.needs(1)) g.set(1, mul(g.cotangent(), g.argument(0).operand()));
        },
    .scalar = "input * other",
    .traits = {.pointwise = true},
    .semantics = {.linearity = Linearity::product},
};

constinit const Symbol div_symbol{
    .signature = "torch.div(Operand input, Operand other, *, str? rounding_mode=None) -> Tensor",
    .documentation =
        "input / other; with rounding_mode \"floor\" or \"trunc\" the rounded quotient, in the operands' type.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          if (a[2].is_none()) return infer_promoted_floating(a, types);
          require(a[2].string() == "floor" || a[2].string() == "trunc",
                  "rounding_mode must be None, \"floor\" or \"trunc\", not \"", a[2].string(), "\"");
          infer_promoted(a, types);
        },
    .gradient =
        [](Gradient& g) {
          if (!g.argument(2).is_none()) return gradient_is_zero(g);
          if (g.needs(0)) g.set(0, div(g.cotangent(), g.argument(1).operand()));
          if (g.needs(1)) {
            const Tensor quotient = div(g.argument(0).operand(), g.tensor(1));
            const Tensor second = div(quotient, g.tensor(1));
            const Tensor slope = neg(second);
            g.set(1, mul(g.cotangent(), slope));
          }
        },
    .scalar = quotient_formula,
    .traits = {.pointwise = true},
    .semantics = {.linearity = Linearity::first},
    .samples = {.low = 0.5, .high = 3},
};

constinit const Symbol pow_symbol{
    .signature = "torch.pow(Operand input, Operand exponent) -> Tensor",
    .documentation = "input to the power of exponent.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          infer_promoted(a, types);
          if (!is_floating(types[0].dtype) && a[1].is_integer())
            require(a[1].integer() >= 0,
                    "integers to negative integer powers are not integers; convert to a floating dtype first");
        },
    .gradient = gradient_of_power,
    .scalar = power_formula,
    .traits = {.pointwise = true},
    .samples = {.low = 0.5, .high = 2},
};

constinit const Symbol maximum_symbol{
    .signature = "torch.maximum(Tensor input, Tensor other) -> Tensor",
    .documentation = "The larger of two elements; not a number where either is.",
    .infer = infer_promoted,
    .gradient = [](Gradient& g) { gradient_of_extremum(g, true); },
    .scalar = "maximum(input, other)",
    .traits = {.pointwise = true},
};

constinit const Symbol minimum_symbol{
    .signature = "torch.minimum(Tensor input, Tensor other) -> Tensor",
    .documentation = "The smaller of two elements; not a number where either is.",
    .infer = infer_promoted,
    .gradient = [](Gradient& g) { gradient_of_extremum(g, false); },
    .scalar = "minimum(input, other)",
    .traits = {.pointwise = true},
};

constinit const Symbol remainder_symbol{
    .signature = "torch.remainder(Operand input, Operand other) -> Tensor",
    .documentation = "The remainder of the division rounded down: it has the divisor's sign.",
    .infer = infer_promoted,
    .gradient = [](Gradient& g) { gradient_of_modulus(g, "floor"); },
    .traits = {.pointwise = true},
    .samples = {.low = 0.5, .high = 3},
};

constinit const Symbol fmod_symbol{
    .signature = "torch.fmod(Tensor input, Operand other) -> Tensor",
    .documentation = "The remainder of the division rounded toward zero: it has the dividend's sign.",
    .infer = infer_promoted,
    .gradient = [](Gradient& g) { gradient_of_modulus(g, "trunc"); },
    .scalar = remainder_formula,
    .traits = {.pointwise = true},
    .samples = {.low = 0.5, .high = 3},
};

constinit const Symbol atan2_symbol{
    .signature = "torch.atan2(Tensor input, Tensor other) -> Tensor",
    .documentation = "The angle in radians of the point (other, input).",
    .infer = infer_promoted_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor y = g.tensor(0), x = g.tensor(1);
          const Tensor y_square = mul(y, y);
          const Tensor x_square = mul(x, x);
          const Tensor square = add(y_square, x_square);
          // At the origin, and where squares underflow, the angle has no slope; 0 as in PyTorch.
          const Tensor flat = eq(square, 0);
          const Tensor divisor = masked_fill(square, flat, 1);
          const Tensor quotient = div(g.cotangent(), divisor);
          const Tensor scaled = masked_fill(quotient, flat, 0);
          if (g.needs(0)) g.set(0, mul(scaled, x));
          if (g.needs(1)) {
            const Tensor negative = neg(y);
            g.set(1, mul(scaled, negative));
          }
        },
    .scalar = "atan2(input, other)",
    .traits = {.pointwise = true},
};

SymbolList arithmetic_symbols() {
  static constexpr const Symbol* list[] = {
      &add_symbol,     &sub_symbol,     &mul_symbol,       &div_symbol,  &pow_symbol,
      &maximum_symbol, &minimum_symbol, &remainder_symbol, &fmod_symbol, &atan2_symbol,
  };
  return list;
}

}  // namespace fulgurite
