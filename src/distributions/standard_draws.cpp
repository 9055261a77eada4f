#include "distributions/standard_draws.h"

#include <fulgurite/autograd_function.h>
#include <fulgurite/autograd_modes.h>
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"

namespace fulgurite::distributions {

namespace {

// The smallest distance between draws: numbers are multiples of it, from 0 on.
double resolution(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64: return 0x1p-53;
    case Dtype::f32: return 0x1p-24;
    case Dtype::f16: return 0x1p-11;
    default: return 0x1p-8;
  }
}

// One attempt of Marsaglia and Tsang's method (2000): a candidate, and where it is accepted.
struct Attempt {
  Tensor candidate, is_accepted;
};
Attempt attempt(const Tensor& d, const RandomOptions& options, SourceLocation at) {
  const Tensor x = standard_normal(d.shape(), options, at);
  const Tensor u = open_uniform(d.shape(), options, at);
  const Tensor scale = rsqrt(mul(d, 9, at), at);
  const Tensor root = add(mul(scale, x, at), 1, 1, at);
  const Tensor v = pow(root, 3, at);
  const Tensor log_v = log(clamp_min(v, 1e-300, at), at);
  const Tensor rest = add(sub(1, v, 1, at), log_v, 1, at);
  const Tensor half_square = mul(square(x, at), 0.5, at);
  const Tensor bound = add(half_square, mul(d, rest, at), 1, at);
  const Tensor is_below = lt(log(u, at), bound, at);
  return {mul(d, v, at), logical_and(gt(v, 0, at), is_below, at)};
}

}  // namespace

Tensor standard_normal(const Shape& shape, const RandomOptions& options, SourceLocation at) {
  return detail::draw_randn(shape, options, at);
}

Tensor open_uniform(const Shape& shape, const RandomOptions& options, SourceLocation at) {
  const Tensor drawn = detail::draw_rand(shape, options, at);
  return clamp_min(drawn, resolution(drawn.dtype()) / 2, at);
}

Tensor standard_exponential(const Shape& shape, const RandomOptions& options, SourceLocation at) {
  return neg(log(open_uniform(shape, options, at), at), at);
}

namespace {

Tensor drawn_without_history(const Tensor& concentration, const GeneratorOption& generator, SourceLocation at) {
  const NoGrad no_grad;
  const RandomOptions options{.dtype = Dtype::f64, .generator = generator};
  const Tensor shape = concentration.detach(at).to(Dtype::f64, at);
  // The method is for shapes of at least 1; smaller ones are drawn as shape + 1 times a power of a uniform number.
  const Tensor is_small = lt(shape, 1, at);
  const Tensor raised = where(is_small, add(shape, 1, 1, at), shape, at);
  const Tensor d = sub(raised, 1.0 / 3, 1, at);
  Tensor out = zeros_like(d, {}, at);
  Tensor is_open = ones_like(d, {.dtype = Dtype::boolean}, at);
  while (d.numel() > 0 && any(is_open, {}, false, at).item<bool>()) {
    const auto [candidate, is_accepted] = attempt(d, options, at);
    out = where(logical_and(is_open, is_accepted, at), candidate, out, at);
    is_open = logical_and(is_open, logical_not(is_accepted, at), at);
  }
  const Tensor power = pow(open_uniform(d.shape(), options, at), reciprocal(shape, at), at);
  Tensor drawn = where(is_small, mul(out, power, at), out, at);
  return clamp_min(drawn, 2.2250738585072014e-308, at).to(concentration.dtype(), at);
}

// A draw, with the gradient by which it moves with its shape at the same probability.
struct GammaSample {
  static constexpr bool once_differentiable = true;
  static Tensor forward(autograd::Context& context, Tensor concentration, Tensor drawn) {
    context.save_for_backward({concentration, drawn});
    return drawn.clone();
  }
  static std::vector<Tensor> backward(autograd::Context& context, Tensor gradient) {
    const std::vector<Tensor> saved = context.saved_tensors();
    const Tensor slope = prims::standard_gamma_grad(saved[0], saved[1]);
    return {mul(gradient, slope), {}};
  }
};

}  // namespace

Tensor standard_gamma(const Tensor& concentration, const GeneratorOption& generator, SourceLocation at) {
  act_immediately("a draw of the gamma distribution", at);
  Tensor drawn = drawn_without_history(concentration, generator, at);
  if (!concentration.requires_grad() || !is_grad_enabled()) return drawn;
  return autograd::apply<GammaSample>(concentration, drawn, at);
}

}  // namespace fulgurite::distributions
