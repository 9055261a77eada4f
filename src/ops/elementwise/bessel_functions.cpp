// Pointwise special functions of one and two tensors: Bessel functions, the scaled error function, incomplete gamma
// functions, Hurwitz' zeta function.
#include <cmath>

#include <fulgurite/libtorch_names.h>
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/elementwise/pointwise_rules.h"
#include "ops/generated/symbols.h"
#include "ops/structural/custom_function_symbols.h"

namespace fulgurite {

namespace {

constexpr double two_over_sqrt_pi = 1.1283791670955126, sqrt_two_pi = 2.5066282746310005;

// value / x, or its limit near 0, where the value of a tiny x has lost its digits.
Tensor over(const Tensor& value, const Tensor& x, double limit) {
  const double near = std::sqrt(finfo(x.dtype()).eps);
  const Tensor size = abs(x);
  const Tensor is_near = lt(size, near);
  const Tensor divisor = masked_fill(x, is_near, 1);
  const Tensor ratio = div(value, divisor);
  return masked_fill(ratio, is_near, limit);
}

// The density of gamma numbers of shape a: x^(a - 1) exp(-x) / gamma(a).
Tensor gamma_density(const Tensor& a, const Tensor& x) {
  const Tensor lowered = sub(a, 1);
  const Tensor power = xlogy(lowered, x);
  const Tensor decayed = sub(power, x);
  const Tensor size = lgamma(a);
  return exp(sub(decayed, size));
}

// The derivative by the shape is that of gamma numbers by theirs, with which the value does not change. It has no
// derivative of its own.
void gradient_of_incomplete_gamma(Gradient& g, double sign) {
  const Tensor a = g.tensor(0), x = g.tensor(1);
  const Tensor density = gamma_density(a, x);
  const Tensor flow = mul(g.cotangent(), density);
  const Tensor towards = sign > 0 ? flow : neg(flow);
  if (g.needs(1)) g.set(1, towards);
  if (!g.needs(0)) return;
  const Tensor moved = prims::standard_gamma_grad(a, x);
  const Tensor away = neg(towards);
  const Tensor gradient = mul(away, moved);
  const std::string_view name = "the incomplete gamma function by its shape";
  const Argument arguments[] = {gradient, name};
  g.set(0, dispatch(prims_once_differentiable_symbol, arguments, {}));
}

}  // namespace

constinit const Symbol i0_symbol{
    .signature = "torch.i0(Tensor input) -> Tensor",
    .documentation = "The modified Bessel function of the first kind and order 0 of each element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor slope = special::i1(g.tensor(0));
          g.set(0, mul(g.cotangent(), slope));
        },
    .traits = {.pointwise = true},
    .samples = {.low = -3, .high = 3},
};

constinit const Symbol special_i0e_symbol{
    .signature = "torch.special.i0e(Tensor input) -> Tensor",
    .documentation = "exp(-|x|) i0(x) of each element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor side = sign(g.tensor(0));
          const Tensor lost = mul(side, g.result());
          const Tensor next = special::i1e(g.tensor(0));
          const Tensor slope = sub(next, lost);
          g.set(0, mul(g.cotangent(), slope));
        },
    .traits = {.pointwise = true},
    .samples = {.low = 0.3, .high = 4},
};

constinit const Symbol special_i1_symbol{
    .signature = "torch.special.i1(Tensor input) -> Tensor",
    .documentation = "The modified Bessel function of the first kind and order 1 of each element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor even = i0(g.tensor(0));
          const Tensor slope = sub(even, over(g.result(), g.tensor(0), 0.5));
          g.set(0, mul(g.cotangent(), slope));
        },
    .traits = {.pointwise = true},
    .samples = {.low = 0.3, .high = 3},
};

constinit const Symbol special_i1e_symbol{
    .signature = "torch.special.i1e(Tensor input) -> Tensor",
    .documentation = "exp(-|x|) i1(x) of each element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor side = sign(g.tensor(0));
          const Tensor lost = mul(side, g.result());
          const Tensor even = special::i0e(g.tensor(0));
          const Tensor kept = sub(even, lost);
          const Tensor slope = sub(kept, over(g.result(), g.tensor(0), 0.5));
          g.set(0, mul(g.cotangent(), slope));
        },
    .traits = {.pointwise = true},
    .samples = {.low = 0.3, .high = 4},
};

constinit const Symbol special_bessel_j0_symbol{
    .signature = "torch.special.bessel_j0(Tensor input) -> Tensor",
    .documentation = "The Bessel function of the first kind and order 0 of each element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor next = special::bessel_j1(g.tensor(0));
          const Tensor slope = neg(next);
          g.set(0, mul(g.cotangent(), slope));
        },
    .traits = {.pointwise = true},
    .samples = {.low = 0.3, .high = 6},
};

constinit const Symbol special_bessel_j1_symbol{
    .signature = "torch.special.bessel_j1(Tensor input) -> Tensor",
    .documentation = "The Bessel function of the first kind and order 1 of each element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor even = special::bessel_j0(g.tensor(0));
          const Tensor slope = sub(even, over(g.result(), g.tensor(0), 0.5));
          g.set(0, mul(g.cotangent(), slope));
        },
    .traits = {.pointwise = true},
    .samples = {.low = 0.3, .high = 6},
};

constinit const Symbol special_bessel_y0_symbol{
    .signature = "torch.special.bessel_y0(Tensor input) -> Tensor",
    .documentation = "The Bessel function of the second kind and order 0 of each element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor next = special::bessel_y1(g.tensor(0));
          const Tensor slope = neg(next);
          g.set(0, mul(g.cotangent(), slope));
        },
    .traits = {.pointwise = true},
    .samples = {.low = 0.5, .high = 6},
};

constinit const Symbol special_bessel_y1_symbol{
    .signature = "torch.special.bessel_y1(Tensor input) -> Tensor",
    .documentation = "The Bessel function of the second kind and order 1 of each element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor even = special::bessel_y0(g.tensor(0));
          const Tensor part = div(g.result(), g.tensor(0));
          const Tensor slope = sub(even, part);
          g.set(0, mul(g.cotangent(), slope));
        },
    .traits = {.pointwise = true},
    .samples = {.low = 0.5, .high = 6},
};

constinit const Symbol special_modified_bessel_k0_symbol{
    .signature = "torch.special.modified_bessel_k0(Tensor input) -> Tensor",
    .documentation = "The modified Bessel function of the second kind and order 0 of each element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor next = special::modified_bessel_k1(g.tensor(0));
          const Tensor slope = neg(next);
          g.set(0, mul(g.cotangent(), slope));
        },
    .traits = {.pointwise = true},
    .samples = {.low = 0.3, .high = 4},
};

constinit const Symbol special_modified_bessel_k1_symbol{
    .signature = "torch.special.modified_bessel_k1(Tensor input) -> Tensor",
    .documentation = "The modified Bessel function of the second kind and order 1 of each element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor even = special::modified_bessel_k0(g.tensor(0));
          const Tensor part = div(g.result(), g.tensor(0));
          const Tensor both = add(even, part);
          const Tensor slope = neg(both);
          g.set(0, mul(g.cotangent(), slope));
        },
    .traits = {.pointwise = true},
    .samples = {.low = 0.3, .high = 4},
};

constinit const Symbol special_scaled_modified_bessel_k0_symbol{
    .signature = "torch.special.scaled_modified_bessel_k0(Tensor x) -> Tensor",
    .documentation = "exp(x) modified_bessel_k0(x) of each element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor next = special::scaled_modified_bessel_k1(g.tensor(0));
          const Tensor slope = sub(g.result(), next);
          g.set(0, mul(g.cotangent(), slope));
        },
    // PyTorch has no gradient of its own function.
    .python = "torch.exp({0}) * torch.special.modified_bessel_k0({0})",
    .traits = {.pointwise = true},
    .samples = {.low = 0.3, .high = 4},
};

constinit const Symbol special_scaled_modified_bessel_k1_symbol{
    .signature = "torch.special.scaled_modified_bessel_k1(Tensor x) -> Tensor",
    .documentation = "exp(x) modified_bessel_k1(x) of each element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor even = special::scaled_modified_bessel_k0(g.tensor(0));
          const Tensor part = div(g.result(), g.tensor(0));
          const Tensor both = add(even, part);
          const Tensor slope = sub(g.result(), both);
          g.set(0, mul(g.cotangent(), slope));
        },
    // PyTorch has no gradient of its own function.
    .python = "torch.exp({0}) * torch.special.modified_bessel_k1({0})",
    .traits = {.pointwise = true},
    .samples = {.low = 0.3, .high = 4},
};

constinit const Symbol special_erfcx_symbol{
    .signature = "torch.special.erfcx(Tensor input) -> Tensor",
    .documentation = "exp(x^2) erfc(x) of each element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor product = mul(g.tensor(0), g.result());
          const Tensor doubled = mul(product, 2);
          const Tensor slope = sub(doubled, two_over_sqrt_pi);
          g.set(0, mul(g.cotangent(), slope));
        },
    .traits = {.pointwise = true},
    .samples = {.low = -1.5, .high = 4},
};

constinit const Symbol special_ndtri_symbol{
    .signature = "torch.special.ndtri(Tensor input) -> Tensor",
    .documentation = "The quantile of the standard normal distribution at each element, a probability.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor square = mul(g.result(), g.result());
          const Tensor half = mul(square, 0.5);
          const Tensor bell = exp(half);
          const Tensor slope = mul(bell, sqrt_two_pi);
          g.set(0, mul(g.cotangent(), slope));
        },
    .traits = {.pointwise = true},
    .samples = {.low = 0.05, .high = 0.95},
};

constinit const Symbol igamma_symbol{
    .signature = "torch.igamma(Tensor input, Tensor other) -> Tensor",
    .documentation = "The regularized lower incomplete gamma function of shape input at other.",
    .infer = infer_promoted_floating,
    .gradient = [](Gradient& g) { gradient_of_incomplete_gamma(g, 1); },
    .traits = {.pointwise = true},
    .samples = {.low = 0.5, .high = 4},
};

constinit const Symbol igammac_symbol{
    .signature = "torch.igammac(Tensor input, Tensor other) -> Tensor",
    .documentation = "The regularized upper incomplete gamma function of shape input at other.",
    .infer = infer_promoted_floating,
    .gradient = [](Gradient& g) { gradient_of_incomplete_gamma(g, -1); },
    .traits = {.pointwise = true},
    .samples = {.low = 0.5, .high = 4},
};

constinit const Symbol prims_standard_gamma_grad_symbol{
    .signature = "prims.standard_gamma_grad(Tensor concentration, Tensor sample) -> Tensor",
    .documentation = "How a gamma number of rate 1 moves with its shape, at the same probability.",
    .infer = infer_promoted_floating,
    .python = "torch._standard_gamma_grad({0}, {1})",
    .traits = {.pointwise = true, .not_differentiable = true},
    .samples = {.low = 0.5, .high = 4},
};

constinit const Symbol special_zeta_symbol{
    .signature = "torch.special.zeta(Tensor input, Tensor other) -> Tensor",
    .documentation = "Hurwitz' zeta function: the sum of (other + k)^-input over all k from 0 on.",
    .infer = infer_promoted_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor s = g.tensor(0), q = g.tensor(1);
          if (g.needs(1)) {
            const Tensor next = special::zeta(add(s, 1), q);
            const Tensor product = mul(s, next);
            const Tensor slope = neg(product);
            g.set(1, mul(g.cotangent(), slope));
          }
          if (!g.needs(0)) return;
          const Tensor cotangent = g.cotangent();
          const std::string_view message = "special.zeta: the derivative by the exponent is not defined";
          const Argument arguments[] = {cotangent, message};
          g.set(0, dispatch(prims_no_gradient_symbol, arguments, {}));
        },
    .traits = {.pointwise = true},
    .samples = {.low = 1.5, .high = 4},
};

SymbolList bessel_function_symbols() {
  static constexpr const Symbol* list[] = {
      &i0_symbol,
      &special_i0e_symbol,
      &special_i1_symbol,
      &special_i1e_symbol,
      &special_bessel_j0_symbol,
      &special_bessel_j1_symbol,
      &special_bessel_y0_symbol,
      &special_bessel_y1_symbol,
      &special_modified_bessel_k0_symbol,
      &special_modified_bessel_k1_symbol,
      &special_scaled_modified_bessel_k0_symbol,
      &special_scaled_modified_bessel_k1_symbol,
      &special_erfcx_symbol,
      &special_ndtri_symbol,
      &igamma_symbol,
      &igammac_symbol,
      &prims_standard_gamma_grad_symbol,
      &special_zeta_symbol,
  };
  return list;
}

}  // namespace fulgurite
