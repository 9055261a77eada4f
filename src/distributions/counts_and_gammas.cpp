// Chi2 and InverseGamma, which are drawn from gamma numbers, and counts: NegativeBinomial, Multinomial.
#include <cmath>
#include <limits>

#include <fulgurite/continuous_distributions.h>
#include <fulgurite/error.h>
#include <fulgurite/further_distributions.h>
#include <fulgurite/operators.h>
#include <fulgurite/numeric_functions.h>

#include "distributions/standard_draws.h"
#include "support/text/text.h"

namespace fulgurite::distributions {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Gamma gamma_of(const Tensor& df, SourceLocation at) { return Gamma(mul(df, 0.5, at), 0.5, at); }

// The logarithm of the gamma function at 1 + x.
Tensor log_factorial(const Tensor& x, SourceLocation at) { return lgamma(add(x, 1, 1, at), at); }

Shape without_last(const Shape& shape) {
  Shape out = shape;
  out.pop_back();
  return out;
}

}  // namespace

Chi2::Chi2(const Operand& df, SourceLocation at) : Parametrized("Chi2", {{"df", df, Range::positive}}, at) {}
Tensor Chi2::log_prob(const Tensor& value, SourceLocation at) const { return gamma_of(df(), at).log_prob(value, at); }
Tensor Chi2::mean(SourceLocation) const { return df(); }
Tensor Chi2::variance(SourceLocation at) const { return mul(df(), 2, at); }
Tensor Chi2::entropy(SourceLocation at) const { return gamma_of(df(), at).entropy(at); }
Tensor Chi2::cdf(const Tensor& value, SourceLocation at) const { return gamma_of(df(), at).cdf(value, at); }
Tensor Chi2::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  const Tensor half = mul(expand(df(), Dims(shape), at), 0.5, at);
  return mul(standard_gamma(half, generator, at), 2, at);
}

InverseGamma::InverseGamma(const Operand& concentration, const Operand& rate, SourceLocation at)
    : Parametrized("InverseGamma", {{"concentration", concentration, Range::positive}, {"rate", rate, Range::positive}},
                   at) {}
Tensor InverseGamma::log_prob(const Tensor& value, SourceLocation at) const {
  const Tensor scaled = xlogy(concentration(), rate(), at);
  const Tensor power = xlogy(add(concentration(), 1, 1, at), value, at);
  const Tensor decay = div(rate(), value, {}, at);
  const Tensor density = sub(sub(scaled, power, 1, at), decay, 1, at);
  return sub(density, lgamma(concentration(), at), 1, at);
}
Tensor InverseGamma::mean(SourceLocation at) const {
  const Tensor finite = div(rate(), sub(concentration(), 1, 1, at), {}, at);
  return where(gt(concentration(), 1, at), finite, infinity, at);
}
Tensor InverseGamma::variance(SourceLocation at) const {
  const Tensor below = square(sub(concentration(), 1, 1, at), at);
  const Tensor denominator = mul(below, sub(concentration(), 2, 1, at), at);
  return where(gt(concentration(), 2, at), div(square(rate(), at), denominator, {}, at), infinity, at);
}
Tensor InverseGamma::entropy(SourceLocation at) const {
  const Tensor start = add(concentration(), log(rate(), at), 1, at);
  const Tensor size = add(start, lgamma(concentration(), at), 1, at);
  const Tensor slope = digamma(concentration(), at);
  return sub(size, mul(add(concentration(), 1, 1, at), slope, at), 1, at);
}
Tensor InverseGamma::cdf(const Tensor& value, SourceLocation at) const {
  return igammac(concentration(), div(rate(), value, {}, at), at);
}
Tensor InverseGamma::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  return div(rate(), standard_gamma(expand(concentration(), Dims(shape), at), generator, at), {}, at);
}

NegativeBinomial::NegativeBinomial(const Operand& total_count, const Operand& probs, SourceLocation at)
    : Parametrized("NegativeBinomial",
                   {{"total_count", total_count, Range::positive}, {"probs", probs, Range::probability}}, at) {}
Tensor NegativeBinomial::log_prob(const Tensor& value, SourceLocation at) const {
  const Tensor orders = lgamma(add(total_count(), value, 1, at), at);
  const Tensor choices = sub(orders, log_factorial(value, at), 1, at);
  const Tensor constant = sub(choices, lgamma(total_count(), at), 1, at);
  const Tensor failures = mul(total_count(), log1p(neg(probs(), at), at), at);
  return add(add(constant, failures, 1, at), xlogy(value, probs(), at), 1, at);
}
Tensor NegativeBinomial::mean(SourceLocation at) const {
  const Tensor odds = div(probs(), sub(1, probs(), 1, at), {}, at);
  return mul(total_count(), odds, at);
}
Tensor NegativeBinomial::variance(SourceLocation at) const { return div(mean(at), sub(1, probs(), 1, at), {}, at); }
Tensor NegativeBinomial::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  const Tensor count = expand(total_count().detach(at), Dims(shape), at);
  const Tensor odds = div(probs(), sub(1, probs(), 1, at), {}, at).detach(at);
  return poisson(mul(standard_gamma(count, generator, at), odds, at), generator, at);
}

Multinomial::Multinomial(int64_t total_count, Categorical classes, SourceLocation at)
    : Distribution("Multinomial", classes.batch_shape(), {classes.classes()}, classes.dtype()),
      total_count_(total_count),
      classes_(std::move(classes)) {
  if (total_count < 0)
    throw UserError(text::cat("distributions::Multinomial: total_count must be at least 0, not ", total_count), at);
}
Multinomial::Multinomial(int64_t total_count, const Tensor& probs, SourceLocation at)
    : Multinomial(total_count, Categorical(probs, at), at) {}
Multinomial::Multinomial(int64_t total_count, const Logits& logits, SourceLocation at)
    : Multinomial(total_count, Categorical(logits, at), at) {}
Multinomial::Multinomial(int64_t total_count, const Probabilities& probabilities, SourceLocation at)
    : Multinomial(total_count, Categorical(probabilities, at), at) {}
Tensor Multinomial::log_prob(const Tensor& value, SourceLocation at) const {
  const Tensor orders = lgamma(add(sum(value, {-1}, false, {}, at), 1, 1, at), at);
  const Tensor equal_orders = sum(log_factorial(value, at), {-1}, false, {}, at);
  const Tensor impossible = logical_and(eq(value, 0, at), isinf(logits(), at), at);
  const Tensor weights = masked_fill(mul(value, logits(), at), impossible, 0.0, at);
  return add(sub(orders, equal_orders, 1, at), sum(weights, {-1}, false, {}, at), 1, at);
}
Tensor Multinomial::mean(SourceLocation at) const { return mul(probs(at), static_cast<double>(total_count_), at); }
Tensor Multinomial::variance(SourceLocation at) const {
  const Tensor p = probs(at);
  return mul(mul(p, sub(1, p, 1, at), at), static_cast<double>(total_count_), at);
}
Tensor Multinomial::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  Shape samples{total_count_};
  const Shape outer = without_last(shape);
  for (size_t i = 0; i + batch_shape().size() < outer.size(); ++i) samples.push_back(outer[i]);
  if (total_count_ == 0) return zeros(Dims(shape), {.dtype = dtype()}, at);
  const Tensor drawn = classes_.sample(Dims(samples), generator, at);
  return sum(nn::one_hot(drawn, classes_.classes(), at), {0}, false, {}, at).to(dtype(), at);
}

}  // namespace fulgurite::distributions
