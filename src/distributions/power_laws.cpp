// Weibull, Pareto and HalfCauchy.
#include <cmath>
#include <limits>
#include <numbers>

#include <fulgurite/further_distributions.h>
#include <fulgurite/operators.h>

#include "distributions/standard_draws.h"

namespace fulgurite::distributions {

namespace {

constexpr double pi = std::numbers::pi, infinity = std::numeric_limits<double>::infinity();
constexpr double gamma_of_euler = std::numbers::egamma;

// The gamma function at 1 + n / concentration.
Tensor gamma_moment(const Tensor& concentration, double n, SourceLocation at) {
  const Tensor argument = add(div(n, concentration, {}, at), 1, 1, at);
  return exp(lgamma(argument, at), at);
}

}  // namespace

Weibull::Weibull(const Operand& scale, const Operand& concentration, SourceLocation at)
    : Parametrized("Weibull", {{"scale", scale, Range::positive}, {"concentration", concentration, Range::positive}},
                   at) {}
Tensor Weibull::log_prob(const Tensor& value, SourceLocation at) const {
  const Tensor ratio = div(value, scale(), {}, at);
  const Tensor decay = pow(ratio, concentration(), at);
  const Tensor growth = xlogy(sub(concentration(), 1, 1, at), ratio, at);
  const Tensor constant = log(div(concentration(), scale(), {}, at), at);
  const Tensor density = sub(add(constant, growth, 1, at), decay, 1, at);
  return where(ge(value, 0, at), density, -infinity, at);
}
Tensor Weibull::mean(SourceLocation at) const { return mul(scale(), gamma_moment(concentration(), 1, at), at); }
Tensor Weibull::variance(SourceLocation at) const {
  const Tensor second = gamma_moment(concentration(), 2, at);
  const Tensor first = square(gamma_moment(concentration(), 1, at), at);
  return mul(square(scale(), at), sub(second, first, 1, at), at);
}
Tensor Weibull::entropy(SourceLocation at) const {
  const Tensor share = mul(sub(1, reciprocal(concentration(), at), 1, at), gamma_of_euler, at);
  const Tensor width = log(div(scale(), concentration(), {}, at), at);
  return add(add(share, width, 1, at), 1, 1, at);
}
Tensor Weibull::cdf(const Tensor& value, SourceLocation at) const {
  const Tensor ratio = div(value, scale(), {}, at);
  return neg(expm1(neg(pow(ratio, concentration(), at), at), at), at);
}
Tensor Weibull::icdf(const Tensor& probability, SourceLocation at) const {
  const Tensor waited = neg(log1p(neg(probability, at), at), at);
  return mul(scale(), pow(waited, reciprocal(concentration(), at), at), at);
}
Tensor Weibull::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  const Tensor waited = standard_exponential(shape, options(generator), at);
  return mul(scale(), pow(waited, reciprocal(concentration(), at), at), at);
}

Pareto::Pareto(const Operand& scale, const Operand& alpha, SourceLocation at)
    : Parametrized("Pareto", {{"scale", scale, Range::positive}, {"alpha", alpha, Range::positive}}, at) {}
Tensor Pareto::log_prob(const Tensor& value, SourceLocation at) const {
  const Tensor ratio = log(div(value, scale(), {}, at), at);
  const Tensor constant = log(alpha(), at);
  const Tensor density = sub(sub(constant, mul(alpha(), ratio, at), 1, at), log(value, at), 1, at);
  return where(ge(value, scale(), at), density, -infinity, at);
}
Tensor Pareto::mean(SourceLocation at) const {
  const Tensor finite = div(mul(alpha(), scale(), at), sub(alpha(), 1, 1, at), {}, at);
  return where(gt(alpha(), 1, at), finite, infinity, at);
}
Tensor Pareto::variance(SourceLocation at) const {
  const Tensor below = square(sub(alpha(), 1, 1, at), at);
  const Tensor denominator = mul(below, sub(alpha(), 2, 1, at), at);
  const Tensor finite = div(mul(square(scale(), at), alpha(), at), denominator, {}, at);
  return where(gt(alpha(), 2, at), finite, infinity, at);
}
Tensor Pareto::entropy(SourceLocation at) const {
  const Tensor width = log(div(scale(), alpha(), {}, at), at);
  return add(add(width, reciprocal(alpha(), at), 1, at), 1, 1, at);
}
Tensor Pareto::cdf(const Tensor& value, SourceLocation at) const {
  const Tensor rest = pow(div(scale(), value, {}, at), alpha(), at);
  return where(ge(value, scale(), at), sub(1, rest, 1, at), 0.0, at);
}
Tensor Pareto::icdf(const Tensor& probability, SourceLocation at) const {
  const Tensor waited = neg(log1p(neg(probability, at), at), at);
  return mul(scale(), exp(div(waited, alpha(), {}, at), at), at);
}
Tensor Pareto::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  const Tensor waited = standard_exponential(shape, options(generator), at);
  return mul(scale(), exp(div(waited, alpha(), {}, at), at), at);
}

HalfCauchy::HalfCauchy(const Operand& scale, SourceLocation at)
    : Parametrized("HalfCauchy", {{"scale", scale, Range::positive}}, at) {}
Tensor HalfCauchy::log_prob(const Tensor& value, SourceLocation at) const {
  const Tensor spread = log1p(square(div(value, scale(), {}, at), at), at);
  const Tensor density = sub(sub(std::log(2 / pi), log(scale(), at), 1, at), spread, 1, at);
  return where(ge(value, 0, at), density, -infinity, at);
}
Tensor HalfCauchy::mean(SourceLocation at) const { return full_like(scale(), infinity, {}, at); }
Tensor HalfCauchy::variance(SourceLocation at) const { return full_like(scale(), infinity, {}, at); }
Tensor HalfCauchy::entropy(SourceLocation at) const { return log(mul(scale(), 2 * pi, at), at); }
Tensor HalfCauchy::cdf(const Tensor& value, SourceLocation at) const {
  return mul(atan(div(value, scale(), {}, at), at), 2 / pi, at);
}
Tensor HalfCauchy::icdf(const Tensor& probability, SourceLocation at) const {
  return mul(tan(mul(probability, pi / 2, at), at), scale(), at);
}
Tensor HalfCauchy::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  return icdf(open_uniform(shape, options(generator), at), at);
}

}  // namespace fulgurite::distributions
