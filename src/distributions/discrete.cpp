// Distributions of counts: Bernoulli, Geometric, Poisson, Binomial.
#include <cmath>
#include <limits>

#include <fulgurite/discrete_distributions.h>
#include <fulgurite/error.h>
#include <fulgurite/numeric_functions.h>
#include <fulgurite/operators.h>

#include "distributions/standard_draws.h"
#include "support/text/text.h"

namespace fulgurite::distributions {

namespace {

// count * log(1 - p), 0 for no failures whatever p is.
Tensor log_failures(const Tensor& count, const Tensor& p, SourceLocation at) {
  return xlogy(count, sub(1, p, 1, at), at);
}

// Trials of which each succeeds with probability p, and the successes that are known.
struct Trials {
  Tensor count, p, successes;
};

// The middle one of n uniform numbers in order is a Beta number: it says on which side of p half of them are.
Trials halved(const Trials& trials, const GeneratorOption& generator, SourceLocation at) {
  const Tensor middle = floor(mul(add(trials.count, 1, 1, at), 0.5, at), at);
  const Tensor rest = sub(add(trials.count, 1, 1, at), middle, 1, at);
  const Tensor low = standard_gamma(clamp_min(middle, 1, at), generator, at);
  const Tensor high = standard_gamma(clamp_min(rest, 1, at), generator, at);
  const Tensor at_middle = div(low, add(low, high, 1, at), {}, at);
  const Tensor is_below = le(at_middle, trials.p, at);
  const Tensor beyond = div(sub(trials.p, at_middle, 1, at), sub(1, at_middle, 1, at), {}, at);
  const Tensor within = div(trials.p, at_middle, {}, at);
  const Tensor more = sub(trials.count, middle, 1, at);
  const Tensor fewer = clamp_min(sub(middle, 1, 1, at), 0, at);
  const Tensor found = where(is_below, middle, 0, at);
  return {where(is_below, more, fewer, at), clamp(where(is_below, beyond, within, at), 0.0, 1.0, at),
          add(trials.successes, found, 1, at)};
}

constexpr int64_t single_trials = 64;  // of these each is drawn

Tensor drawn_successes(Trials trials, int64_t most, const GeneratorOption& generator, SourceLocation at) {
  for (; most > single_trials; most /= 2) trials = halved(trials, generator, at);
  Shape shape = trials.count.shape();
  shape.insert(0, most);
  const Tensor drawn = detail::draw_rand(shape, {.dtype = Dtype::f64, .generator = generator}, at);
  Shape column{most};
  for (size_t i = 1; i < shape.size(); ++i) column.push_back(1);
  const Tensor index = reshape(arange(most, {.dtype = Dtype::f64}, at), Dims(column), at);
  const Tensor is_success = lt(drawn, trials.p, at);
  const Tensor counted = logical_and(is_success, lt(index, trials.count, at), at);
  return add(trials.successes, sum(counted, {0}, false, Dtype::f64, at), 1, at);
}

}  // namespace

Bernoulli::Bernoulli(const Operand& probs, SourceLocation at)
    : Parametrized("Bernoulli", {{"probs", probs, Range::probability}}, at) {}
Bernoulli::Bernoulli(const Logits& logits, SourceLocation at)
    : Parametrized("Bernoulli", {{"logits", logits.logits, Range::any}}, at), has_logits_(true) {}
Bernoulli::Bernoulli(const Probabilities& probabilities, SourceLocation at) : Bernoulli(probabilities.probs, at) {}
Tensor Bernoulli::probs(SourceLocation at) const { return has_logits_ ? sigmoid(parameter(0), at) : parameter(0); }
Tensor Bernoulli::logits(SourceLocation at) const { return has_logits_ ? parameter(0) : logit(parameter(0), {}, at); }
Tensor Bernoulli::log_prob(const Tensor& value, SourceLocation at) const {
  if (!has_logits_) {
    const Tensor one = xlogy(value, parameter(0), at);
    const Tensor rest = sub(1, value, 1, at);
    return add(one, log_failures(rest, parameter(0), at), 1, at);
  }
  const Tensor chosen = mul(value, parameter(0), at);
  return sub(chosen, nn::softplus(parameter(0), 1.0, 20.0, at), 1, at);
}
Tensor Bernoulli::variance(SourceLocation at) const {
  const Tensor p = probs(at);
  return mul(p, sub(1, p, 1, at), at);
}
Tensor Bernoulli::entropy(SourceLocation at) const {
  const Tensor p = probs(at);
  const Tensor one = xlogy(p, p, at);
  const Tensor rest = sub(1, p, 1, at);
  return neg(add(one, xlogy(rest, rest, at), 1, at), at);
}
Tensor Bernoulli::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  const Tensor drawn = detail::draw_rand(shape, options(generator), at);
  return lt(drawn, probs(at), at).to(dtype(), at);
}

Geometric::Geometric(const Operand& probs, SourceLocation at)
    : Parametrized("Geometric", {{"probs", probs, Range::probability}}, at) {}
Tensor Geometric::log_prob(const Tensor& value, SourceLocation at) const {
  const Tensor failures = log_failures(value, probs(), at);
  return add(failures, log(probs(), at), 1, at);
}
Tensor Geometric::mean(SourceLocation at) const { return sub(reciprocal(probs(), at), 1, 1, at); }
Tensor Geometric::variance(SourceLocation at) const {
  return div(sub(reciprocal(probs(), at), 1, 1, at), probs(), {}, at);
}
Tensor Geometric::entropy(SourceLocation at) const {
  const Tensor one = xlogy(probs(), probs(), at);
  const Tensor rest = sub(1, probs(), 1, at);
  const Tensor both = add(one, xlogy(rest, rest, at), 1, at);
  return div(neg(both, at), probs(), {}, at);
}
Tensor Geometric::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  const Tensor waited = log(open_uniform(shape, options(generator), at), at);
  return floor(div(waited, log1p(neg(probs(), at), at), {}, at), at);
}

Poisson::Poisson(const Operand& rate, SourceLocation at)
    : Parametrized("Poisson", {{"rate", rate, Range::not_negative}}, at) {}
Tensor Poisson::log_prob(const Tensor& value, SourceLocation at) const {
  const Tensor chosen = sub(xlogy(value, rate(), at), rate(), 1, at);
  return sub(chosen, lgamma(add(value, 1, 1, at), at), 1, at);
}
Tensor Poisson::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  return poisson(expand(rate().detach(at), Dims(shape), at), generator, at);
}

Binomial::Binomial(int64_t total_count, const Operand& probs, SourceLocation at)
    : Parametrized("Binomial", {{"probs", probs, Range::probability}}, at), total_count_(total_count) {
  if (total_count < 0)
    throw UserError(text::cat("distributions::Binomial: total_count must be at least 0, not ", total_count), at);
}
Tensor Binomial::log_prob(const Tensor& value, SourceLocation at) const {
  const double n = static_cast<double>(total_count_);
  const Tensor failures = sub(n, value, 1, at);
  const Tensor orders = sub(std::lgamma(n + 1), lgamma(add(value, 1, 1, at), at), 1, at);
  const Tensor choices = sub(orders, lgamma(add(failures, 1, 1, at), at), 1, at);
  const Tensor chosen = add(choices, xlogy(value, probs(), at), 1, at);
  return add(chosen, log_failures(failures, probs(), at), 1, at);
}
Tensor Binomial::mean(SourceLocation at) const { return mul(probs(), static_cast<double>(total_count_), at); }
Tensor Binomial::variance(SourceLocation at) const {
  const Tensor rest = sub(1, probs(), 1, at);
  return mul(mul(probs(), rest, at), static_cast<double>(total_count_), at);
}
Tensor Binomial::entropy(SourceLocation at) const {
  Shape shape{total_count_ + 1};
  for (size_t i = 0; i < batch_shape().size(); ++i) shape.push_back(1);
  const Tensor counts = reshape(arange(total_count_ + 1, {.dtype = dtype()}, at), Dims(shape), at);
  const Tensor logarithms = log_prob(counts, at);
  const Tensor shares = exp(logarithms, at);
  return neg(sum(mul(shares, logarithms, at), {0}, false, {}, at), at);
}
Tensor Binomial::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  const Tensor p = expand(probs().detach(at).to(Dtype::f64, at), Dims(shape), at);
  const Tensor count = full_like(p, static_cast<double>(total_count_), {}, at);
  return drawn_successes({count, p, zeros_like(p, {}, at)}, total_count_, generator, at).to(dtype(), at);
}

}  // namespace fulgurite::distributions
