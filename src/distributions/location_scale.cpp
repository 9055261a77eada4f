// Distributions of a location and a scale, and those that are made of them: Normal, LogNormal, HalfNormal, Laplace,
// Cauchy, Gumbel.
#include <cmath>
#include <limits>
#include <numbers>

#include <fulgurite/continuous_distributions.h>
#include <fulgurite/operators.h>

#include "distributions/standard_draws.h"

namespace fulgurite::distributions {

namespace {

constexpr double pi = std::numbers::pi, infinity = std::numeric_limits<double>::infinity();
const double log_root_2_pi = 0.5 * std::log(2 * pi);

Tensor standardized(const Tensor& value, const Tensor& loc, const Tensor& scale, SourceLocation at) {
  return div(sub(value, loc, 1, at), scale, {}, at);
}
Tensor stretched(const Tensor& standard, const Tensor& loc, const Tensor& scale, SourceLocation at) {
  return add(loc, mul(standard, scale, at), 1, at);
}
// The logarithm of the density of (x - loc) / scale, made the one of x.
Tensor per_scale(const Tensor& log_density, const Tensor& scale, SourceLocation at) {
  return sub(log_density, log(scale, at), 1, at);
}

Tensor log_normal_density(const Tensor& standard, SourceLocation at) {
  return sub(mul(square(standard, at), -0.5, at), log_root_2_pi, 1, at);
}
Tensor normal_cdf(const Tensor& standard, SourceLocation at) {
  return mul(erfc(mul(standard, -std::numbers::sqrt2 / 2, at), at), 0.5, at);
}
Tensor normal_icdf(const Tensor& probability, SourceLocation at) {
  const Tensor centred = sub(mul(probability, 2, at), 1, 1, at);
  return mul(erfinv(centred, at), std::numbers::sqrt2, at);
}

}  // namespace

Normal::Normal(const Operand& loc, const Operand& scale, SourceLocation at)
    : Parametrized("Normal", {{"loc", loc, Range::any}, {"scale", scale, Range::positive}}, at) {}
Tensor Normal::log_prob(const Tensor& value, SourceLocation at) const {
  return per_scale(log_normal_density(standardized(value, loc(), scale(), at), at), scale(), at);
}
Tensor Normal::variance(SourceLocation at) const { return square(scale(), at); }
Tensor Normal::entropy(SourceLocation at) const { return add(log(scale(), at), 0.5 + log_root_2_pi, 1, at); }
Tensor Normal::cdf(const Tensor& value, SourceLocation at) const {
  return normal_cdf(standardized(value, loc(), scale(), at), at);
}
Tensor Normal::icdf(const Tensor& probability, SourceLocation at) const {
  return stretched(normal_icdf(probability, at), loc(), scale(), at);
}
Tensor Normal::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  return stretched(standard_normal(shape, options(generator), at), loc(), scale(), at);
}

LogNormal::LogNormal(const Operand& loc, const Operand& scale, SourceLocation at)
    : Parametrized("LogNormal", {{"loc", loc, Range::any}, {"scale", scale, Range::positive}}, at) {}
Tensor LogNormal::log_prob(const Tensor& value, SourceLocation at) const {
  const Tensor logarithm = log(value, at);
  const Tensor density = log_normal_density(standardized(logarithm, loc(), scale(), at), at);
  return sub(per_scale(density, scale(), at), logarithm, 1, at);
}
Tensor LogNormal::mean(SourceLocation at) const {
  return exp(add(loc(), mul(square(scale(), at), 0.5, at), 1, at), at);
}
Tensor LogNormal::variance(SourceLocation at) const {
  const Tensor square_scale = square(scale(), at);
  const Tensor growth = expm1(square_scale, at);
  return mul(growth, exp(add(mul(loc(), 2, at), square_scale, 1, at), at), at);
}
Tensor LogNormal::entropy(SourceLocation at) const {
  return add(add(log(scale(), at), 0.5 + log_root_2_pi, 1, at), loc(), 1, at);
}
Tensor LogNormal::cdf(const Tensor& value, SourceLocation at) const {
  return normal_cdf(standardized(log(value, at), loc(), scale(), at), at);
}
Tensor LogNormal::icdf(const Tensor& probability, SourceLocation at) const {
  return exp(stretched(normal_icdf(probability, at), loc(), scale(), at), at);
}
Tensor LogNormal::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  return exp(stretched(standard_normal(shape, options(generator), at), loc(), scale(), at), at);
}

HalfNormal::HalfNormal(const Operand& scale, SourceLocation at)
    : Parametrized("HalfNormal", {{"scale", scale, Range::positive}}, at) {}
Tensor HalfNormal::log_prob(const Tensor& value, SourceLocation at) const {
  const Tensor density = log_normal_density(div(value, scale(), {}, at), at);
  const Tensor doubled = add(per_scale(density, scale(), at), std::numbers::ln2, 1, at);
  return where(ge(value, 0, at), doubled, -infinity, at);
}
Tensor HalfNormal::mean(SourceLocation at) const { return mul(scale(), std::sqrt(2 / pi), at); }
Tensor HalfNormal::variance(SourceLocation at) const { return mul(square(scale(), at), 1 - 2 / pi, at); }
Tensor HalfNormal::entropy(SourceLocation at) const {
  return add(log(scale(), at), 0.5 + log_root_2_pi - std::numbers::ln2, 1, at);
}
Tensor HalfNormal::cdf(const Tensor& value, SourceLocation at) const {
  return erf(mul(div(value, scale(), {}, at), std::numbers::sqrt2 / 2, at), at);
}
Tensor HalfNormal::icdf(const Tensor& probability, SourceLocation at) const {
  return mul(mul(erfinv(probability, at), std::numbers::sqrt2, at), scale(), at);
}
Tensor HalfNormal::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  return mul(abs(standard_normal(shape, options(generator), at), at), scale(), at);
}

Laplace::Laplace(const Operand& loc, const Operand& scale, SourceLocation at)
    : Parametrized("Laplace", {{"loc", loc, Range::any}, {"scale", scale, Range::positive}}, at) {}
Tensor Laplace::log_prob(const Tensor& value, SourceLocation at) const {
  const Tensor distance = abs(standardized(value, loc(), scale(), at), at);
  return per_scale(sub(neg(distance, at), std::numbers::ln2, 1, at), scale(), at);
}
Tensor Laplace::variance(SourceLocation at) const { return mul(square(scale(), at), 2, at); }
Tensor Laplace::entropy(SourceLocation at) const { return add(log(scale(), at), 1 + std::numbers::ln2, 1, at); }
Tensor Laplace::cdf(const Tensor& value, SourceLocation at) const {
  const Tensor z = standardized(value, loc(), scale(), at);
  const Tensor tail = expm1(neg(abs(z, at), at), at);
  return add(mul(mul(sign(z, at), tail, at), -0.5, at), 0.5, 1, at);
}
Tensor Laplace::icdf(const Tensor& probability, SourceLocation at) const {
  const Tensor centred = sub(probability, 0.5, 1, at);
  const Tensor tail = log1p(mul(abs(centred, at), -2, at), at);
  return stretched(neg(mul(sign(centred, at), tail, at), at), loc(), scale(), at);
}
Tensor Laplace::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  const Tensor magnitude = standard_exponential(shape, options(generator), at);
  const Tensor side = sub(open_uniform(shape, options(generator), at), 0.5, 1, at);
  return stretched(mul(magnitude, sign(side, at), at), loc(), scale(), at);
}

Cauchy::Cauchy(const Operand& loc, const Operand& scale, SourceLocation at)
    : Parametrized("Cauchy", {{"loc", loc, Range::any}, {"scale", scale, Range::positive}}, at) {}
Tensor Cauchy::log_prob(const Tensor& value, SourceLocation at) const {
  const Tensor z = standardized(value, loc(), scale(), at);
  return per_scale(neg(add(log1p(square(z, at), at), std::log(pi), 1, at), at), scale(), at);
}
Tensor Cauchy::mean(SourceLocation at) const { return full_like(loc(), std::nan(""), {}, at); }
Tensor Cauchy::variance(SourceLocation at) const { return full_like(loc(), infinity, {}, at); }
Tensor Cauchy::entropy(SourceLocation at) const { return add(log(scale(), at), std::log(4 * pi), 1, at); }
Tensor Cauchy::cdf(const Tensor& value, SourceLocation at) const {
  return add(mul(atan(standardized(value, loc(), scale(), at), at), 1 / pi, at), 0.5, 1, at);
}
Tensor Cauchy::icdf(const Tensor& probability, SourceLocation at) const {
  return stretched(tan(mul(sub(probability, 0.5, 1, at), pi, at), at), loc(), scale(), at);
}
Tensor Cauchy::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  return icdf(open_uniform(shape, options(generator), at), at);
}

Gumbel::Gumbel(const Operand& loc, const Operand& scale, SourceLocation at)
    : Parametrized("Gumbel", {{"loc", loc, Range::any}, {"scale", scale, Range::positive}}, at) {}
Tensor Gumbel::log_prob(const Tensor& value, SourceLocation at) const {
  const Tensor z = neg(standardized(value, loc(), scale(), at), at);
  return per_scale(sub(z, exp(z, at), 1, at), scale(), at);
}
Tensor Gumbel::mean(SourceLocation at) const { return add(loc(), mul(scale(), std::numbers::egamma, at), 1, at); }
Tensor Gumbel::variance(SourceLocation at) const { return mul(square(scale(), at), pi * pi / 6, at); }
Tensor Gumbel::entropy(SourceLocation at) const { return add(log(scale(), at), 1 + std::numbers::egamma, 1, at); }
Tensor Gumbel::cdf(const Tensor& value, SourceLocation at) const {
  return exp(neg(exp(neg(standardized(value, loc(), scale(), at), at), at), at), at);
}
Tensor Gumbel::icdf(const Tensor& probability, SourceLocation at) const {
  return stretched(neg(log(neg(log(probability, at), at), at), at), loc(), scale(), at);
}
Tensor Gumbel::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  const Tensor waited = standard_exponential(shape, options(generator), at);
  return stretched(neg(log(waited, at), at), loc(), scale(), at);
}

}  // namespace fulgurite::distributions
