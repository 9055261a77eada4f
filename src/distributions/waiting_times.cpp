// Uniform and Exponential.
#include <limits>

#include <fulgurite/continuous_distributions.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "distributions/standard_draws.h"
#include "ops/core/dispatch.h"

namespace fulgurite::distributions {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

Uniform::Uniform(const Operand& low, const Operand& high, SourceLocation at)
    : Parametrized("Uniform", {{"low", low, Range::any}, {"high", high, Range::any}}, at) {
  if (!innermost_interpreter() && !all(lt(this->low(), this->high(), at), {}, false, at).item<bool>())
    throw UserError("distributions::Uniform: low must be below high", at);
}
Tensor Uniform::log_prob(const Tensor& value, SourceLocation at) const {
  const Tensor is_above = ge(value, low(), at);
  const Tensor is_inside = logical_and(is_above, lt(value, high(), at), at);
  return where(is_inside, neg(log(sub(high(), low(), 1, at), at), at), -infinity, at);
}
Tensor Uniform::mean(SourceLocation at) const { return mul(add(low(), high(), 1, at), 0.5, at); }
Tensor Uniform::variance(SourceLocation at) const { return mul(square(sub(high(), low(), 1, at), at), 1.0 / 12, at); }
Tensor Uniform::entropy(SourceLocation at) const { return log(sub(high(), low(), 1, at), at); }
Tensor Uniform::cdf(const Tensor& value, SourceLocation at) const {
  const Tensor width = sub(high(), low(), 1, at);
  return clamp(div(sub(value, low(), 1, at), width, {}, at), 0.0, 1.0, at);
}
Tensor Uniform::icdf(const Tensor& probability, SourceLocation at) const {
  const Tensor width = sub(high(), low(), 1, at);
  return add(low(), mul(probability, width, at), 1, at);
}
Tensor Uniform::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  return icdf(detail::draw_rand(shape, options(generator), at), at);
}

Exponential::Exponential(const Operand& rate, SourceLocation at)
    : Parametrized("Exponential", {{"rate", rate, Range::positive}}, at) {}
Tensor Exponential::log_prob(const Tensor& value, SourceLocation at) const {
  const Tensor log_rate = log(rate(), at);
  const Tensor density = sub(log_rate, mul(rate(), value, at), 1, at);
  return where(ge(value, 0, at), density, -infinity, at);
}
Tensor Exponential::mean(SourceLocation at) const { return reciprocal(rate(), at); }
Tensor Exponential::variance(SourceLocation at) const { return pow(rate(), -2, at); }
Tensor Exponential::entropy(SourceLocation at) const { return sub(1, log(rate(), at), 1, at); }
Tensor Exponential::cdf(const Tensor& value, SourceLocation at) const {
  return neg(expm1(neg(mul(rate(), value, at), at), at), at);
}
Tensor Exponential::icdf(const Tensor& probability, SourceLocation at) const {
  return div(neg(log1p(neg(probability, at), at), at), rate(), {}, at);
}
Tensor Exponential::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  return div(standard_exponential(shape, options(generator), at), rate(), {}, at);
}

}  // namespace fulgurite::distributions
