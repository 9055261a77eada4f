// Composite pointwise operators.
#include <cmath>
#include <limits>

#include <fulgurite/operators.h>

#include "ops/core/families.h"
#include "ops/core/precision.h"
#include "ops/elementwise/pointwise_rules.h"
#include "ops/generated/symbols.h"

namespace fulgurite {

namespace {

constexpr double degrees = 57.29577951308232, radians = 0.017453292519943295;

double largest(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64: return std::numeric_limits<double>::max();
    case Dtype::bf16: return 3.3895313892515355e38;
    case Dtype::f16: return 65504;
    default: return std::numeric_limits<float>::max();
  }
}

Tensor is_negative(const Tensor& x, SourceLocation at) {
  if (x.dtype() == Dtype::boolean || x.dtype() == Dtype::u8)
    return full(x.shape(), false, {.dtype = Dtype::boolean}, at);
  Tensor below = lt(x, 0, at);
  if (!is_floating(x.dtype())) return below;
  const Tensor inverse = reciprocal(x, at);  // distinguishes -0 from 0
  const Tensor inverse_below = lt(inverse, 0, at);
  return logical_or(below, inverse_below, at);
}

/// True where fmax (or fmin) picks the first operand: it is not on the wrong side of the other, or the other is NaN.
Tensor picked(const Tensor& a, const Tensor& b, bool larger, SourceLocation at) {
  Tensor right_side = larger ? ge(a, b, at) : le(a, b, at);
  if (!is_floating(b.dtype())) return right_side;
  const Tensor missing = isnan(b, at);
  return logical_or(right_side, missing, at);
}

/// PyTorch's gradient of fmax (or fmin): the picked operand gets the cotangent, equal ones half each.
void gradient_of_picked(Gradient& g, bool larger) {
  const Tensor a = g.tensor(0), b = g.tensor(1);
  const Tensor tied = eq(a, b);
  const Tensor half = div(g.cotangent(), 2);
  const Tensor shared = where(tied, half, g.cotangent());
  if (g.needs(0)) {
    const Tensor wins = picked(a, b, larger, SourceLocation());
    g.set(0, where(wins, shared, 0));
  }
  if (g.needs(1)) {
    const Tensor is_behind = larger ? gt(a, b) : lt(a, b);
    const Tensor is_missing = isnan(b);
    const Tensor loses = logical_or(is_behind, is_missing);
    g.set(1, where(loses, 0, shared));
  }
}

void infer_floating_pair(Arguments a, InferredTypes& types) {
  infer_promoted(a, types);
  require(is_floating(types[0].dtype), "needs a floating dtype, not ", types[0].dtype);
}

}  // namespace

constinit const Symbol frac_symbol{
    .signature = "torch.frac(Tensor input) -> Tensor",
    .documentation = "Each element without its whole part.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          require(is_floating(a[0].tensor().dtype()), "needs a floating dtype, not ", a[0].tensor().dtype());
          infer_same(a, types);
        },
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor whole = trunc(a[0].tensor(), at);
          out.push_back(sub(a[0].tensor(), whole, 1, at));
        },
    .traits = {.pointwise = true},
};

constinit const Symbol deg2rad_symbol{
    .signature = "torch.deg2rad(Tensor input) -> Tensor",
    .documentation = "Degrees as radians.",
    .decompose = [](Arguments a, Results& out, SourceLocation at) { out.push_back(mul(a[0].tensor(), radians, at)); },
    .traits = {.pointwise = true},
};

constinit const Symbol rad2deg_symbol{
    .signature = "torch.rad2deg(Tensor input) -> Tensor",
    .documentation = "Radians as degrees.",
    .decompose = [](Arguments a, Results& out, SourceLocation at) { out.push_back(mul(a[0].tensor(), degrees, at)); },
    .traits = {.pointwise = true},
};

constinit const Symbol signbit_symbol{
    .signature = "torch.signbit(Tensor input) -> Tensor",
    .documentation = "True where the sign bit of an element is set, as that of -0 is.",
    .decompose = [](Arguments a, Results& out, SourceLocation at) { out.push_back(is_negative(a[0].tensor(), at)); },
    .traits = {.pointwise = true, .not_differentiable = true},
};

constinit const Symbol copysign_symbol{
    .signature = "torch.copysign(Tensor input, Operand other) -> Tensor",
    .documentation = "The size of input with the sign of other.",
    .infer = infer_promoted_floating,
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          InferredTypes types;
          infer_promoted_floating(a, types);
          const Tensor x = as_dtype(a[0].tensor(), types[0].dtype, at);
          const Tensor other = as_tensor(a[1], x, types[0].dtype, at);
          const Tensor size = abs(x, at);
          const Tensor negative = neg(size, at);
          const Tensor takes_negative = is_negative(other, at);
          out.push_back(where(takes_negative, negative, size, at));
        },
    .scalar = "copysign(input, other)",
    .traits = {.pointwise = true},
};

constinit const Symbol heaviside_symbol{
    .signature = "torch.heaviside(Tensor input, Tensor values) -> Tensor",
    .documentation = "0 where input is negative, values where it is zero, 1 where it is positive.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor &x = a[0].tensor(), &values = a[1].tensor();
          require(x.dtype() == values.dtype(), "input is ", x.dtype(), ", values ", values.dtype(),
                  "; they must be of one dtype");
          const Tensor positive = gt(x, 0, at);
          const Tensor step = prims::convert_element_type(positive, x.dtype(), at);
          const Tensor is_zero = eq(x, 0, at);
          out.push_back(where(is_zero, values, step, at));
        },
    .traits = {.pointwise = true, .not_differentiable = true},
};

constinit const Symbol fmax_symbol{
    .signature = "torch.fmax(Tensor input, Tensor other) -> Tensor",
    .documentation = "The larger of two; the number where one is not a number.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor first = picked(a[0].tensor(), a[1].tensor(), true, at);
          out.push_back(where(first, a[0].tensor(), a[1].tensor(), at));
        },
    .gradient = [](Gradient& g) { gradient_of_picked(g, true); },
    .traits = {.pointwise = true},
};

constinit const Symbol fmin_symbol{
    .signature = "torch.fmin(Tensor input, Tensor other) -> Tensor",
    .documentation = "The smaller of two; the number where one is not a number.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor first = picked(a[0].tensor(), a[1].tensor(), false, at);
          out.push_back(where(first, a[0].tensor(), a[1].tensor(), at));
        },
    .gradient = [](Gradient& g) { gradient_of_picked(g, false); },
    .traits = {.pointwise = true},
};

constinit const Symbol floor_divide_symbol{
    .signature = "torch.floor_divide(Tensor input, Operand other) -> Tensor",
    .documentation = "The quotient, rounded down.",
    .decompose = [](Arguments a, Results& out,
                    SourceLocation at) { out.push_back(div(a[0].tensor(), a[1].operand(), "floor", at)); },
    .traits = {.pointwise = true},
};

constinit const Symbol hypot_symbol{
    .signature = "torch.hypot(Tensor input, Tensor other) -> Tensor",
    .documentation = "sqrt(input^2 + other^2) without overflow on the way.",
    .infer = infer_floating_pair,
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          InferredTypes types;
          infer_floating_pair(a, types);
          const Dtype dtype = types[0].dtype;
          const Tensor first = as_dtype(a[0].tensor(), compute_dtype(dtype), at);
          const Tensor x = abs(first, at);
          const Tensor second = as_dtype(a[1].tensor(), compute_dtype(dtype), at);
          const Tensor y = abs(second, at);
          const Tensor large = maximum(x, y, at);
          const Tensor small = minimum(x, y, at);
          const Tensor is_zero = eq(large, 0, at);
          // An infinite operand decides, even beside NaN.
          const Tensor first_infinite = eq(x, INFINITY, at);
          const Tensor second_infinite = eq(y, INFINITY, at);
          const Tensor is_infinite = logical_or(first_infinite, second_infinite, at);
          const Tensor is_special = logical_or(is_zero, is_infinite, at);
          const Tensor divisor = where(is_special, 1, large, at);
          const Tensor ratio = div(small, divisor, {}, at);
          const Tensor square = mul(ratio, ratio, at);
          const Tensor raised = add(square, 1, 1, at);
          const Tensor root = sqrt(raised, at);
          const Tensor scaled = mul(large, root, at);
          const Tensor result = where(is_infinite, INFINITY, scaled, at);
          out.push_back(as_dtype(result, dtype, at));
        },
    .gradient =
        [](Gradient& g) {
          for (const size_t i : {size_t{0}, size_t{1}}) {
            if (!g.needs(i)) continue;
            const Tensor slope = div(g.tensor(i), g.result());
            g.set(i, mul(g.cotangent(), slope));
          }
        },
    .traits = {.pointwise = true},
};

constinit const Symbol logit_symbol{
    .signature = "torch.logit(Tensor input, float? eps=None) -> Tensor",
    .documentation = "log(x / (1 - x)); with eps of x brought into [eps, 1 - eps].",
    .infer = [](Arguments a, InferredTypes& types) { infer_floating(a.first(1), types); },
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Dtype dtype = floating_or_default(a[0].tensor().dtype());
          Tensor x = as_dtype(a[0].tensor(), compute_dtype(dtype), at);
          if (logit_has_bounds(a[1], dtype)) {
            // Not clamp: if eps exceeds 1 - eps, the lower bound wins.
            const Float eps = a[1].floating();
            const Tensor is_high = gt(x, 1.0 - eps, at);
            const Tensor is_low = lt(x, eps, at);
            const Tensor lowered = where(is_high, 1.0 - eps, x, at);
            x = where(is_low, eps, lowered, at);
          }
          const Tensor rest = sub(1, x, 1, at);
          const Tensor odds = div(x, rest, {}, at);
          const Tensor result = log(odds, at);
          out.push_back(as_dtype(result, dtype, at));
        },
    .gradient =
        [](Gradient& g) {
          const Tensor x = g.tensor(0);
          const Tensor rest = sub(1, x);
          const Tensor product = mul(x, rest);
          const Tensor inside = div(g.cotangent(), product);
          const bool bounded = logit_has_bounds(g.argument(1), x.dtype());
          const Float eps = bounded ? g.argument(1).floating() : Float(0.0);
          const Tensor is_low = lt(x, eps);
          const Tensor is_high = gt(x, 1.0 - eps);
          const Tensor is_out = logical_or(is_low, is_high);
          g.set(0, where(is_out, bounded ? 0.0 : NAN, inside));
        },
    .traits = {.pointwise = true},
    .samples = {.low = 0.1, .high = 0.9},
};

constinit const Symbol nan_to_num_symbol{
    .signature = "torch.nan_to_num(Tensor input, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
    .documentation =
        "NaN replaced by nan (0) and infinities by posinf and neginf (the dtype's largest and smallest numbers).",
    .infer = [](Arguments a, InferredTypes& types) { infer_same(a.first(1), types); },
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& x = a[0].tensor();
          if (!is_floating(x.dtype())) return out.push_back(clone(x, at));
          const auto given = [&](size_t i, double otherwise) {
            return a[i].is_none() ? Float(otherwise) : a[i].floating();
          };
          const Tensor missing = isnan(x, at);
          const Tensor present = where(missing, given(1, 0), x, at);
          const Tensor is_high = eq(x, INFINITY, at);
          const Tensor lowered = where(is_high, given(2, largest(x.dtype())), present, at);
          const Tensor is_low = eq(x, -INFINITY, at);
          out.push_back(where(is_low, given(3, -largest(x.dtype())), lowered, at));
        },
    .traits = {.pointwise = true},
};

constinit const Symbol xlogy_symbol{
    .signature = "torch.xlogy(Operand input, Operand other) -> Tensor",
    .documentation = "input * log(other); 0 where input is 0 and other a number.",
    .infer = infer_promoted_floating,
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          InferredTypes types;
          infer_promoted_floating(a, types);
          const Dtype dtype = types[0].dtype;
          const Tensor any = a[0].is_tensor() ? a[0].tensor() : a[1].tensor();
          const Tensor x = as_dtype(as_tensor(a[0], any, dtype, at), dtype, at);
          const Tensor y = as_dtype(as_tensor(a[1], any, dtype, at), dtype, at);
          const Tensor logarithm = log(y, at);
          const Tensor product = mul(x, logarithm, at);
          const Tensor is_zero = eq(x, 0, at);
          const Tensor cleared = where(is_zero, 0.0, product, at);
          const Tensor missing = isnan(y, at);
          out.push_back(where(missing, NAN, cleared, at));
        },
    .gradient =
        [](Gradient& g) {
          if (g.needs(0)) {
            const Tensor y =
                as_dtype(as_tensor(g.argument(1), g.tensor(0), g.result().dtype(), {}), g.result().dtype(), {});
            const Tensor logarithm = log(y);
            // If y is a positive number, x is not read.
            if (g.argument(1).is_number() && g.argument(1).floating() > 0.0) {
              g.set(0, mul(g.cotangent(), logarithm));
            } else {
              const Tensor is_zero = eq(g.tensor(0), 0);
              const Tensor is_flat = le(y, 0);
              const Tensor is_cut = logical_and(is_zero, is_flat);
              const Tensor slope = where(is_cut, 0.0, logarithm);
              g.set(0, mul(g.cotangent(), slope));
            }
          }
          if (g.needs(1)) {
            const Tensor slope = div(g.argument(0).operand(), g.tensor(1));
            g.set(1, mul(g.cotangent(), slope));
          }
        },
    .traits = {.pointwise = true},
    .samples = {.low = 0.1, .high = 3},
};

constinit const Symbol logaddexp_symbol{
    .signature = "torch.logaddexp(Tensor input, Tensor other) -> Tensor",
    .documentation = "log(exp(input) + exp(other)) without overflow on the way.",
    .infer = infer_floating_pair,
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          InferredTypes types;
          infer_floating_pair(a, types);
          const Dtype dtype = types[0].dtype;
          const Tensor x = as_dtype(a[0].tensor(), compute_dtype(dtype), at);
          const Tensor y = as_dtype(a[1].tensor(), compute_dtype(dtype), at);
          const Tensor large = maximum(x, y, at);
          const Tensor same = eq(x, y, at);  // both may be the same infinity
          const Tensor difference = sub(x, y, 1, at);
          const Tensor gap = where(same, 0.0, difference, at);
          const Tensor size = abs(gap, at);
          const Tensor exponent = neg(size, at);
          const Tensor power = exp(exponent, at);
          const Tensor rest = log1p(power, at);
          const Tensor sum = add(large, rest, 1, at);
          out.push_back(as_dtype(sum, dtype, at));
        },
    .gradient =
        [](Gradient& g) {
          for (const size_t i : {size_t{0}, size_t{1}}) {
            if (!g.needs(i)) continue;
            const Tensor difference = sub(g.tensor(i), g.tensor(1 - i));
            const Tensor share = sigmoid(difference);
            g.set(i, mul(g.cotangent(), share));
          }
        },
    .traits = {.pointwise = true},
};

SymbolList pointwise_composition_symbols() {
  static constexpr const Symbol* list[] = {
      &frac_symbol,      &deg2rad_symbol,    &rad2deg_symbol, &signbit_symbol,      &copysign_symbol,
      &heaviside_symbol, &fmax_symbol,       &fmin_symbol,    &floor_divide_symbol, &hypot_symbol,
      &logit_symbol,     &nan_to_num_symbol, &xlogy_symbol,   &logaddexp_symbol,
  };
  return list;
}

}  // namespace fulgurite
