// Pointwise special functions of one tensor: inverse hyperbolic, error and gamma functions and related ones.
#include <numbers>

#include <fulgurite/operators.h>

#include "ops/core/families.h"
#include "ops/core/precision.h"
#include "ops/elementwise/pointwise_rules.h"
#include "ops/generated/symbols.h"

namespace fulgurite {

namespace {

constexpr double two_over_sqrt_pi = 1.1283791670955126, sqrt_pi_over_two = 0.886226925452758;

}  // namespace

constinit const Symbol asinh_symbol{
    .signature = "torch.asinh(Tensor input) -> Tensor",
    .documentation = "The inverse hyperbolic sine of each element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor square = mul(g.tensor(0), g.tensor(0));
          const Tensor raised = add(square, 1);
          const Tensor slope = rsqrt(raised);
          g.set(0, mul(g.cotangent(), slope));
        },
    .traits = {.pointwise = true},
};

constinit const Symbol acosh_symbol{
    .signature = "torch.acosh(Tensor input) -> Tensor",
    .documentation = "The inverse hyperbolic cosine of each element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor square = mul(g.tensor(0), g.tensor(0));
          const Tensor lowered = sub(square, 1);
          const Tensor slope = rsqrt(lowered);
          g.set(0, mul(g.cotangent(), slope));
        },
    .traits = {.pointwise = true},
    .samples = {.low = 1.1, .high = 4},
};

constinit const Symbol atanh_symbol{
    .signature = "torch.atanh(Tensor input) -> Tensor",
    .documentation = "The inverse hyperbolic tangent of each element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor square = mul(g.tensor(0), g.tensor(0));
          const Tensor rest = sub(1, square);
          g.set(0, div(g.cotangent(), rest));
        },
    .traits = {.pointwise = true},
    .samples = {.low = -0.9, .high = 0.9},
};

constinit const Symbol erfc_symbol{
    .signature = "torch.erfc(Tensor input) -> Tensor",
    .documentation = "1 - erf(x) of each element, exact for large x too.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor square = mul(g.tensor(0), g.tensor(0));
          const Tensor exponent = neg(square);
          const Tensor bell = exp(exponent);
          const Tensor slope = mul(bell, -two_over_sqrt_pi);
          g.set(0, mul(g.cotangent(), slope));
        },
    .traits = {.pointwise = true},
};

constinit const Symbol erfinv_symbol{
    .signature = "torch.erfinv(Tensor input) -> Tensor",
    .documentation = "The inverse of erf of each element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor square = mul(g.result(), g.result());
          const Tensor bell = exp(square);
          const Tensor slope = mul(bell, sqrt_pi_over_two);
          g.set(0, mul(g.cotangent(), slope));
        },
    .traits = {.pointwise = true},
    .samples = {.low = -0.9, .high = 0.9},
};

constinit const Symbol lgamma_symbol{
    .signature = "torch.lgamma(Tensor input) -> Tensor",
    .documentation = "The logarithm of the absolute value of the gamma function of each element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor slope = digamma(g.tensor(0));
          g.set(0, mul(g.cotangent(), slope));
        },
    .traits = {.pointwise = true},
    .samples = {.low = 0.2, .high = 4},
};

constinit const Symbol digamma_symbol{
    .signature = "torch.digamma(Tensor input) -> Tensor",
    .documentation = "The derivative of lgamma of each element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor slope = polygamma(1, g.tensor(0));
          g.set(0, mul(g.cotangent(), slope));
        },
    .traits = {.pointwise = true},
    .samples = {.low = 0.2, .high = 4},
};

constinit const Symbol polygamma_symbol{
    .signature = "torch.polygamma(int n, Tensor input) -> Tensor",
    .documentation = "The n-th derivative of digamma of each element.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          require(a[0].integer() >= 0, "n must not be negative: ", a[0].integer().hint());
          infer_floating(a.subspan(1), types);
        },
    .gradient =
        [](Gradient& g) {
          const Tensor slope = polygamma(g.argument(0).integer() + 1, g.tensor(1));
          g.set(1, mul(g.cotangent(), slope));
        },
    .traits = {.pointwise = true},
    .samples = {.low = 0.2, .high = 4},
};

constinit const Symbol sinc_symbol{
    .signature = "torch.sinc(Tensor input) -> Tensor",
    .documentation = "sin(pi x) / (pi x) of each element; 1 at 0.",
    .infer = infer_floating,
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Dtype dtype = floating_or_default(a[0].tensor().dtype());
          const Tensor x = as_dtype(a[0].tensor(), compute_dtype(dtype), at);
          const Tensor is_zero = eq(x, 0, at);
          const Tensor turns = where(is_zero, 1, x, at);
          const Tensor angle = mul(turns, std::numbers::pi, at);
          const Tensor wave = sin(angle, at);
          const Tensor ratio = div(wave, angle, {}, at);
          out.push_back(as_dtype(where(is_zero, 1, ratio, at), dtype, at));
        },
    .traits = {.pointwise = true},
};

SymbolList special_function_symbols() {
  static constexpr const Symbol* list[] = {
      &asinh_symbol,  &acosh_symbol,   &atanh_symbol,     &erfc_symbol, &erfinv_symbol,
      &lgamma_symbol, &digamma_symbol, &polygamma_symbol, &sinc_symbol,
  };
  return list;
}

}  // namespace fulgurite
