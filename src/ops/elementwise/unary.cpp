// Pointwise operators of one tensor: exponentials, logarithms, powers, trigonometry.
#include <fulgurite/operators.h>

#include "ops/core/families.h"
#include "ops/elementwise/pointwise_rules.h"
#include "ops/generated/symbols.h"

namespace fulgurite {

constinit const Symbol abs_symbol{
    .signature = "torch.abs(Tensor input) -> Tensor",
    .documentation = "The absolute value of each element.",
    .infer = infer_same,
    .gradient =
        [](Gradient& g) {
          const Tensor slope = sign(g.tensor(0));
          g.set(0, mul(g.cotangent(), slope));
        },
    .scalar = "abs(input)",
    .traits = {.pointwise = true},
    .semantics = {.exact = true},
};

constinit const Symbol neg_symbol{
    .signature = "torch.neg(Tensor input) -> Tensor",
    .documentation = "The negative of each element.",
    .infer = infer_same_number,
    .gradient = [](Gradient& g) { g.set(0, neg(g.cotangent())); },
    .scalar = "-input",
    .traits = {.pointwise = true},
    .semantics = {.linearity = Linearity::first, .exact = true},
};

constinit const Symbol exp_symbol{
    .signature = "torch.exp(Tensor input) -> Tensor",
    .documentation = "e to the power of each element.",
    .infer = infer_floating,
    .gradient = [](Gradient& g) { g.set(0, mul(g.cotangent(), g.result())); },
    .scalar = "exp(input)",
    .traits = {.pointwise = true},
};

constinit const Symbol exp2_symbol{
    .signature = "torch.exp2(Tensor input) -> Tensor",
    .documentation = "2 to the power of each element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor scaled = mul(g.cotangent(), g.result());
          g.set(0, mul(scaled, 0.6931471805599453));
        },
    .scalar = "exp2(input)",
    .traits = {.pointwise = true},
};

constinit const Symbol expm1_symbol{
    .signature = "torch.expm1(Tensor input) -> Tensor",
    .documentation = "exp(x) - 1 of each element, exact near zero.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor slope = add(g.result(), 1);
          g.set(0, mul(g.cotangent(), slope));
        },
    .scalar = "expm1(input)",
    .traits = {.pointwise = true},
};

constinit const Symbol log_symbol{
    .signature = "torch.log(Tensor input) -> Tensor",
    .documentation = "The natural logarithm of each element.",
    .infer = infer_floating,
    .gradient = [](Gradient& g) { g.set(0, div(g.cotangent(), g.tensor(0))); },
    .scalar = "log(input)",
    .traits = {.pointwise = true},
    .samples = {.low = 0.1, .high = 4},
};

constinit const Symbol log2_symbol{
    .signature = "torch.log2(Tensor input) -> Tensor",
    .documentation = "The logarithm to base 2 of each element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor denominator = mul(g.tensor(0), 0.6931471805599453);
          g.set(0, div(g.cotangent(), denominator));
        },
    .scalar = "log2(input)",
    .traits = {.pointwise = true},
    .samples = {.low = 0.1, .high = 4},
};

constinit const Symbol log10_symbol{
    .signature = "torch.log10(Tensor input) -> Tensor",
    .documentation = "The logarithm to base 10 of each element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor denominator = mul(g.tensor(0), 2.302585092994046);
          g.set(0, div(g.cotangent(), denominator));
        },
    .scalar = "log10(input)",
    .traits = {.pointwise = true},
    .samples = {.low = 0.1, .high = 4},
};

constinit const Symbol log1p_symbol{
    .signature = "torch.log1p(Tensor input) -> Tensor",
    .documentation = "log(1 + x) of each element, exact near zero.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor denominator = add(g.tensor(0), 1);
          g.set(0, div(g.cotangent(), denominator));
        },
    .scalar = "log1p(input)",
    .traits = {.pointwise = true},
    .samples = {.low = -0.9, .high = 4},
};

constinit const Symbol sqrt_symbol{
    .signature = "torch.sqrt(Tensor input) -> Tensor",
    .documentation = "The square root of each element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor denominator = mul(g.result(), 2);
          g.set(0, div(g.cotangent(), denominator));
        },
    .scalar = "sqrt(input)",
    .traits = {.pointwise = true},
    .samples = {.low = 0.1, .high = 4},
};

constinit const Symbol rsqrt_symbol{
    .signature = "torch.rsqrt(Tensor input) -> Tensor",
    .documentation = "One over the square root of each element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor y = g.result();
          const Tensor square = mul(y, y);
          const Tensor cube = mul(square, y);
          const Tensor slope = mul(cube, -0.5);
          g.set(0, mul(g.cotangent(), slope));
        },
    .scalar = "1 / sqrt(input)",
    .traits = {.pointwise = true},
    .samples = {.low = 0.1, .high = 4},
};

constinit const Symbol reciprocal_symbol{
    .signature = "torch.reciprocal(Tensor input) -> Tensor",
    .documentation = "One over each element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor y = g.result();
          const Tensor square = mul(y, y);
          const Tensor slope = neg(square);
          g.set(0, mul(g.cotangent(), slope));
        },
    .scalar = "1 / input",
    .traits = {.pointwise = true},
    .samples = {.low = 0.5, .high = 3},
};

constinit const Symbol square_symbol{
    .signature = "torch.square(Tensor input) -> Tensor",
    .documentation = "The square of each element.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          const Tensor& x = a[0].tensor();
          types.push_back({x.shape(), is_boolean(x.dtype()) ? Dtype::i64 : x.dtype(), x.device()});
        },
    .gradient =
        [](Gradient& g) {
          const Tensor slope = mul(g.tensor(0), 2);
          g.set(0, mul(g.cotangent(), slope));
        },
    .scalar = "input * input",
    .traits = {.pointwise = true},
};

constinit const Symbol sin_symbol{
    .signature = "torch.sin(Tensor input) -> Tensor",
    .documentation = "The sine of each element, in radians.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor slope = cos(g.tensor(0));
          g.set(0, mul(g.cotangent(), slope));
        },
    .scalar = "sin(input)",
    .traits = {.pointwise = true},
};

constinit const Symbol cos_symbol{
    .signature = "torch.cos(Tensor input) -> Tensor",
    .documentation = "The cosine of each element, in radians.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor sine = sin(g.tensor(0));
          const Tensor slope = neg(sine);
          g.set(0, mul(g.cotangent(), slope));
        },
    .scalar = "cos(input)",
    .traits = {.pointwise = true},
};

constinit const Symbol tan_symbol{
    .signature = "torch.tan(Tensor input) -> Tensor",
    .documentation = "The tangent of each element, in radians.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor square = mul(g.result(), g.result());
          const Tensor slope = add(square, 1);
          g.set(0, mul(g.cotangent(), slope));
        },
    .scalar = "tan(input)",
    .traits = {.pointwise = true},
    .samples = {.low = -1.3, .high = 1.3},
};

constinit const Symbol asin_symbol{
    .signature = "torch.asin(Tensor input) -> Tensor",
    .documentation = "The angle in radians whose sine is the element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor square = mul(g.tensor(0), g.tensor(0));
          const Tensor rest = sub(1, square);
          const Tensor slope = rsqrt(rest);
          g.set(0, mul(g.cotangent(), slope));
        },
    .scalar = "asin(input)",
    .traits = {.pointwise = true},
    .samples = {.low = -0.9, .high = 0.9},
};

constinit const Symbol acos_symbol{
    .signature = "torch.acos(Tensor input) -> Tensor",
    .documentation = "The angle in radians whose cosine is the element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor square = mul(g.tensor(0), g.tensor(0));
          const Tensor rest = sub(1, square);
          const Tensor root = rsqrt(rest);
          const Tensor slope = neg(root);
          g.set(0, mul(g.cotangent(), slope));
        },
    .scalar = "acos(input)",
    .traits = {.pointwise = true},
    .samples = {.low = -0.9, .high = 0.9},
};

constinit const Symbol atan_symbol{
    .signature = "torch.atan(Tensor input) -> Tensor",
    .documentation = "The angle in radians whose tangent is the element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor square = mul(g.tensor(0), g.tensor(0));
          const Tensor denominator = add(square, 1);
          g.set(0, div(g.cotangent(), denominator));
        },
    .scalar = "atan(input)",
    .traits = {.pointwise = true},
};

constinit const Symbol sinh_symbol{
    .signature = "torch.sinh(Tensor input) -> Tensor",
    .documentation = "The hyperbolic sine of each element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor slope = cosh(g.tensor(0));
          g.set(0, mul(g.cotangent(), slope));
        },
    .traits = {.pointwise = true},
};

constinit const Symbol cosh_symbol{
    .signature = "torch.cosh(Tensor input) -> Tensor",
    .documentation = "The hyperbolic cosine of each element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor slope = sinh(g.tensor(0));
          g.set(0, mul(g.cotangent(), slope));
        },
    .traits = {.pointwise = true},
};

constinit const Symbol tanh_symbol{
    .signature = "torch.tanh(Tensor input) -> Tensor",
    .documentation = "The hyperbolic tangent of each element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor square = mul(g.result(), g.result());
          const Tensor slope = sub(1, square);
          g.set(0, mul(g.cotangent(), slope));
        },
    .scalar = "tanh(input)",
    .traits = {.pointwise = true},
};

constinit const Symbol erf_symbol{
    .signature = "torch.erf(Tensor input) -> Tensor",
    .documentation = "The error function of each element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor square = mul(g.tensor(0), g.tensor(0));
          const Tensor exponent = neg(square);
          const Tensor bell = exp(exponent);
          const Tensor slope = mul(bell, 1.1283791670955126);
          g.set(0, mul(g.cotangent(), slope));
        },
    .scalar = "erf(input)",
    .traits = {.pointwise = true},
};

SymbolList unary_symbols() {
  static constexpr const Symbol* list[] = {
      &abs_symbol,    &neg_symbol,   &exp_symbol,   &exp2_symbol, &expm1_symbol, &log_symbol,
      &log2_symbol,   &log10_symbol, &log1p_symbol, &sqrt_symbol, &rsqrt_symbol, &reciprocal_symbol,
      &square_symbol, &sin_symbol,   &cos_symbol,   &tan_symbol,  &asin_symbol,  &acos_symbol,
      &atan_symbol,   &sinh_symbol,  &cosh_symbol,  &tanh_symbol, &erf_symbol,
  };
  return list;
}

}  // namespace fulgurite
