// Distributions that are drawn from gamma numbers: Gamma, Beta, StudentT, Dirichlet.
#include <cmath>
#include <limits>
#include <numbers>

#include <fulgurite/continuous_distributions.h>
#include <fulgurite/error.h>
#include <fulgurite/multivariate_distributions.h>
#include <fulgurite/operators.h>

#include "distributions/standard_draws.h"
#include "ops/core/dispatch.h"
#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::distributions {

namespace {

Tensor expanded(const Tensor& parameter, const Shape& shape, SourceLocation at) {
  return expand(parameter, Dims(shape), at);
}

// log(gamma(a) gamma(b) / gamma(a + b))
Tensor log_beta(const Tensor& a, const Tensor& b, SourceLocation at) {
  const Tensor total = lgamma(add(a, b, 1, at), at);
  const Tensor first = lgamma(a, at);
  return sub(add(first, lgamma(b, at), 1, at), total, 1, at);
}

Tensor drawn_gamma(const Tensor& concentration, const Shape& shape, const GeneratorOption& generator,
                   SourceLocation at) {
  return standard_gamma(expanded(concentration, shape, at), generator, at);
}

}  // namespace

Gamma::Gamma(const Operand& concentration, const Operand& rate, SourceLocation at)
    : Parametrized("Gamma", {{"concentration", concentration, Range::positive}, {"rate", rate, Range::positive}}, at) {}
Tensor Gamma::log_prob(const Tensor& value, SourceLocation at) const {
  const Tensor scaled = xlogy(concentration(), rate(), at);
  const Tensor power = xlogy(sub(concentration(), 1, 1, at), value, at);
  const Tensor decay = mul(rate(), value, at);
  const Tensor density = sub(add(scaled, power, 1, at), decay, 1, at);
  return sub(density, lgamma(concentration(), at), 1, at);
}
Tensor Gamma::mean(SourceLocation at) const { return div(concentration(), rate(), {}, at); }
Tensor Gamma::variance(SourceLocation at) const { return div(concentration(), square(rate(), at), {}, at); }
Tensor Gamma::entropy(SourceLocation at) const {
  const Tensor start = sub(concentration(), log(rate(), at), 1, at);
  const Tensor size = add(start, lgamma(concentration(), at), 1, at);
  const Tensor slope = digamma(concentration(), at);
  return add(size, mul(sub(1, concentration(), 1, at), slope, at), 1, at);
}
Tensor Gamma::cdf(const Tensor& value, SourceLocation at) const {
  return igamma(concentration(), mul(rate(), value, at), at);
}
Tensor Gamma::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  return div(drawn_gamma(concentration(), shape, generator, at), rate(), {}, at);
}

Beta::Beta(const Operand& concentration1, const Operand& concentration0, SourceLocation at)
    : Parametrized(
          "Beta",
          {{"concentration1", concentration1, Range::positive}, {"concentration0", concentration0, Range::positive}},
          at) {}
Tensor Beta::log_prob(const Tensor& value, SourceLocation at) const {
  const Tensor one = xlogy(sub(concentration1(), 1, 1, at), value, at);
  const Tensor rest = sub(1, value, 1, at);
  const Tensor zero = xlogy(sub(concentration0(), 1, 1, at), rest, at);
  const Tensor density = add(one, zero, 1, at);
  return sub(density, log_beta(concentration1(), concentration0(), at), 1, at);
}
Tensor Beta::mean(SourceLocation at) const {
  return div(concentration1(), add(concentration1(), concentration0(), 1, at), {}, at);
}
Tensor Beta::variance(SourceLocation at) const {
  const Tensor total = add(concentration1(), concentration0(), 1, at);
  const Tensor product = mul(concentration1(), concentration0(), at);
  const Tensor next = add(total, 1, 1, at);
  return div(product, mul(square(total, at), next, at), {}, at);
}
Tensor Beta::entropy(SourceLocation at) const {
  const Tensor total = add(concentration1(), concentration0(), 1, at);
  const Tensor start = log_beta(concentration1(), concentration0(), at);
  const Tensor slope1 = digamma(concentration1(), at);
  const Tensor less1 = sub(start, mul(sub(concentration1(), 1, 1, at), slope1, at), 1, at);
  const Tensor slope0 = digamma(concentration0(), at);
  const Tensor less0 = sub(less1, mul(sub(concentration0(), 1, 1, at), slope0, at), 1, at);
  const Tensor slope = digamma(total, at);
  return add(less0, mul(sub(total, 2, 1, at), slope, at), 1, at);
}
Tensor Beta::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  const Tensor one = drawn_gamma(concentration1(), shape, generator, at);
  const Tensor zero = drawn_gamma(concentration0(), shape, generator, at);
  return div(one, add(one, zero, 1, at), {}, at);
}

StudentT::StudentT(const Operand& df, const Operand& loc, const Operand& scale, SourceLocation at)
    : Parametrized("StudentT",
                   {{"df", df, Range::positive}, {"loc", loc, Range::any}, {"scale", scale, Range::positive}}, at) {}
Tensor StudentT::log_prob(const Tensor& value, SourceLocation at) const {
  const Tensor z = div(sub(value, loc(), 1, at), scale(), {}, at);
  const Tensor half = mul(df(), 0.5, at);
  const Tensor next = add(half, 0.5, 1, at);
  const Tensor log_df = log(df(), at);
  const Tensor width = add(log(scale(), at), mul(log_df, 0.5, at), 1, at);
  const Tensor constant = add(width, 0.5 * std::log(std::numbers::pi), 1, at);
  const Tensor growth = add(constant, lgamma(half, at), 1, at);
  const Tensor size = sub(growth, lgamma(next, at), 1, at);
  const Tensor decay = mul(next, log1p(div(square(z, at), df(), {}, at), at), at);
  return neg(add(decay, size, 1, at), at);
}
Tensor StudentT::mean(SourceLocation at) const { return where(gt(df(), 1, at), loc(), std::nan(""), at); }
Tensor StudentT::variance(SourceLocation at) const {
  const Tensor finite = div(mul(square(scale(), at), df(), at), sub(df(), 2, 1, at), {}, at);
  const Tensor above = where(gt(df(), 2, at), finite, std::numeric_limits<double>::infinity(), at);
  return where(gt(df(), 1, at), above, std::nan(""), at);
}
Tensor StudentT::entropy(SourceLocation at) const {
  const Tensor half = mul(df(), 0.5, at);
  const Tensor next = add(half, 0.5, 1, at);
  const Tensor log_beta_half = log_beta(half, full_like(half, 0.5, {}, at), at);
  const Tensor slope = sub(digamma(next, at), digamma(half, at), 1, at);
  const Tensor width = add(log(scale(), at), mul(log(df(), at), 0.5, at), 1, at);
  const Tensor size = add(width, log_beta_half, 1, at);
  return add(size, mul(next, slope, at), 1, at);
}
Tensor StudentT::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  const Tensor x = standard_normal(shape, options(generator), at);
  const Tensor squares = mul(drawn_gamma(mul(df(), 0.5, at), shape, generator, at), 2, at);
  const Tensor ratio = mul(x, rsqrt(div(squares, df(), {}, at), at), at);
  return add(loc(), mul(ratio, scale(), at), 1, at);
}

namespace {

Shape without_last(const Tensor& tensor) {
  Shape out = tensor.shape();
  out.pop_back();
  return out;
}

const Tensor& checked(const Tensor& concentration, SourceLocation at) {
  if (!concentration.defined() || concentration.ndim() < 1 || !is_floating(concentration.dtype()))
    throw UserError("distributions::Dirichlet: concentration must be a floating tensor of at least one dimension", at);
  if (!innermost_interpreter() && !all(gt(concentration, 0, at), {}, false, at).item<bool>())
    throw UserError("distributions::Dirichlet: concentration must be above 0", at);
  return concentration;
}

}  // namespace

Dirichlet::Dirichlet(const Tensor& concentration, SourceLocation at)
    : Distribution("Dirichlet", without_last(checked(concentration, at)), {concentration.size(-1)},
                   concentration.dtype()),
      concentration_(concentration) {}
Tensor Dirichlet::log_prob(const Tensor& value, SourceLocation at) const {
  const Tensor powers = sum(xlogy(sub(concentration_, 1, 1, at), value, at), {-1}, false, {}, at);
  const Tensor total = lgamma(sum(concentration_, {-1}, false, {}, at), at);
  const Tensor parts = sum(lgamma(concentration_, at), {-1}, false, {}, at);
  return sub(add(powers, total, 1, at), parts, 1, at);
}
Tensor Dirichlet::mean(SourceLocation at) const {
  return div(concentration_, sum(concentration_, {-1}, true, {}, at), {}, at);
}
Tensor Dirichlet::variance(SourceLocation at) const {
  const Tensor total = sum(concentration_, {-1}, true, {}, at);
  const Tensor rest = sub(total, concentration_, 1, at);
  const Tensor product = mul(concentration_, rest, at);
  const Tensor next = add(total, 1, 1, at);
  return div(product, mul(square(total, at), next, at), {}, at);
}
Tensor Dirichlet::entropy(SourceLocation at) const {
  const Tensor total = sum(concentration_, {-1}, false, {}, at);
  const Tensor parts = sum(lgamma(concentration_, at), {-1}, false, {}, at);
  const Tensor log_size = sub(parts, lgamma(total, at), 1, at);
  const Tensor slope = digamma(total, at);
  const Tensor whole = mul(sub(total, static_cast<double>(concentration_.size(-1)), 1, at), slope, at);
  const Tensor slopes = digamma(concentration_, at);
  const Tensor less = sum(mul(sub(concentration_, 1, 1, at), slopes, at), {-1}, false, {}, at);
  return sub(add(log_size, whole, 1, at), less, 1, at);
}
Tensor Dirichlet::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  const Tensor parts = drawn_gamma(concentration_, shape, generator, at);
  return div(parts, sum(parts, {-1}, true, {}, at), {}, at);
}

}  // namespace fulgurite::distributions
