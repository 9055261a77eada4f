// Kullback-Leibler divergences, one formula for each pair of types.
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>

#include <fulgurite/continuous_distributions.h>
#include <fulgurite/error.h>
#include <fulgurite/multivariate_distributions.h>
#include <fulgurite/operators.h>

#include "support/text/text.h"

namespace fulgurite::distributions {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Tensor normal_divergence(const Tensor& loc1, const Tensor& scale1, const Tensor& loc2, const Tensor& scale2,
                         SourceLocation at) {
  const Tensor ratio = square(div(scale1, scale2, {}, at), at);
  const Tensor distance = square(div(sub(loc1, loc2, 1, at), scale2, {}, at), at);
  const Tensor both = sub(add(ratio, distance, 1, at), 1, 1, at);
  return mul(sub(both, log(ratio, at), 1, at), 0.5, at);
}
Tensor formula(const Normal& p, const Normal& q, SourceLocation at) {
  return normal_divergence(p.loc(), p.scale(), q.loc(), q.scale(), at);
}
Tensor formula(const LogNormal& p, const LogNormal& q, SourceLocation at) {
  return normal_divergence(p.loc(), p.scale(), q.loc(), q.scale(), at);
}

Tensor formula(const Exponential& p, const Exponential& q, SourceLocation at) {
  const Tensor ratio = div(q.rate(), p.rate(), {}, at);
  return sub(sub(ratio, 1, 1, at), log(ratio, at), 1, at);
}

Tensor formula(const Laplace& p, const Laplace& q, SourceLocation at) {
  const Tensor ratio = div(p.scale(), q.scale(), {}, at);
  const Tensor distance = abs(sub(p.loc(), q.loc(), 1, at), at);
  const Tensor decay = exp(neg(div(distance, p.scale(), {}, at), at), at);
  const Tensor near = mul(ratio, decay, at);
  const Tensor far = add(near, div(distance, q.scale(), {}, at), 1, at);
  return sub(sub(far, log(ratio, at), 1, at), 1, 1, at);
}

Tensor formula(const Uniform& p, const Uniform& q, SourceLocation at) {
  const Tensor width = sub(q.high(), q.low(), 1, at);
  const Tensor log_ratio = log(div(width, sub(p.high(), p.low(), 1, at), {}, at), at);
  const Tensor is_below = lt(p.low(), q.low(), at);
  const Tensor is_outside = logical_or(is_below, gt(p.high(), q.high(), at), at);
  return where(is_outside, infinity, log_ratio, at);
}

Tensor formula(const Uniform& p, const Normal& q, SourceLocation at) {
  const Tensor width = sub(p.high(), p.low(), 1, at);
  const Tensor log_ratio = log(div(mul(q.scale(), std::sqrt(2 * std::numbers::pi), at), width, {}, at), at);
  const Tensor spread = mul(square(width, at), 1.0 / 12, at);
  const Tensor centre = mul(add(p.low(), p.high(), 1, at), 0.5, at);
  const Tensor distance = square(sub(centre, q.loc(), 1, at), at);
  const Tensor squares = add(spread, distance, 1, at);
  const Tensor doubled = mul(square(q.scale(), at), 2, at);
  return add(log_ratio, div(squares, doubled, {}, at), 1, at);
}

Tensor formula(const Gamma& p, const Gamma& q, SourceLocation at) {
  const Tensor log_ratio = log(div(p.rate(), q.rate(), {}, at), at);
  const Tensor scaled = mul(q.concentration(), log_ratio, at);
  const Tensor sizes = sub(lgamma(q.concentration(), at), lgamma(p.concentration(), at), 1, at);
  const Tensor difference = sub(p.concentration(), q.concentration(), 1, at);
  const Tensor slope = mul(difference, digamma(p.concentration(), at), at);
  const Tensor rates = sub(q.rate(), p.rate(), 1, at);
  const Tensor decay = mul(rates, div(p.concentration(), p.rate(), {}, at), at);
  const Tensor start = add(scaled, sizes, 1, at);
  return add(add(start, slope, 1, at), decay, 1, at);
}

// The divergence of Dirichlet's distributions, along the last dimension.
Tensor dirichlet_divergence(const Tensor& p, const Tensor& q, SourceLocation at) {
  const Tensor total_p = sum(p, {-1}, false, {}, at);
  const Tensor total_q = sum(q, {-1}, false, {}, at);
  const Tensor totals = sub(lgamma(total_p, at), lgamma(total_q, at), 1, at);
  const Tensor parts = sum(sub(lgamma(p, at), lgamma(q, at), 1, at), {-1}, false, {}, at);
  const Tensor slopes = sub(digamma(p, at), unsqueeze(digamma(total_p, at), -1, at), 1, at);
  const Tensor shift = sum(mul(sub(p, q, 1, at), slopes, at), {-1}, false, {}, at);
  return add(sub(totals, parts, 1, at), shift, 1, at);
}
Tensor formula(const Dirichlet& p, const Dirichlet& q, SourceLocation at) {
  return dirichlet_divergence(p.concentration(), q.concentration(), at);
}
Tensor formula(const Beta& p, const Beta& q, SourceLocation at) {
  const Tensor of_p = stack({p.concentration1(), p.concentration0()}, -1, at);
  const Tensor of_q = stack({q.concentration1(), q.concentration0()}, -1, at);
  return dirichlet_divergence(of_p, of_q, at);
}

// a log(a / b), 0 where a is 0, infinite where b alone is.
Tensor relative(const Tensor& a, const Tensor& b, SourceLocation at) {
  const Tensor own = xlogy(a, a, at);
  return sub(own, xlogy(a, b, at), 1, at);
}
Tensor formula(const Bernoulli& p, const Bernoulli& q, SourceLocation at) {
  const Tensor of_p = p.probs(at), of_q = q.probs(at);
  const Tensor one = relative(of_p, of_q, at);
  const Tensor rest_p = sub(1, of_p, 1, at), rest_q = sub(1, of_q, 1, at);
  return add(one, relative(rest_p, rest_q, at), 1, at);
}
Tensor formula(const Geometric& p, const Geometric& q, SourceLocation at) {
  const Tensor rest = log1p(neg(q.probs(), at), at);
  const Tensor start = neg(p.entropy(at), at);
  const Tensor share = div(rest, p.probs(), {}, at);
  const Tensor odds = logit(q.probs(), {}, at);
  return sub(sub(start, share, 1, at), odds, 1, at);
}
Tensor formula(const Poisson& p, const Poisson& q, SourceLocation at) {
  const Tensor difference = sub(q.rate(), p.rate(), 1, at);
  return add(relative(p.rate(), q.rate(), at), difference, 1, at);
}
Tensor formula(const Categorical& p, const Categorical& q, SourceLocation at) {
  const Tensor of_p = p.probs(at), of_q = q.probs(at);
  return sum(relative(of_p, of_q, at), {-1}, false, {}, at);
}
Tensor formula(const OneHotCategorical& p, const OneHotCategorical& q, SourceLocation at) {
  const Tensor of_p = p.probs(at), of_q = q.probs(at);
  return sum(relative(of_p, of_q, at), {-1}, false, {}, at);
}

Tensor formula(const MultivariateNormal& p, const MultivariateNormal& q, SourceLocation at) {
  const auto log_size = [at](const MultivariateNormal& x) {
    return sum(log(diagonal(x.scale_tril(), 0, -2, -1, at), at), {-1}, false, {}, at);
  };
  const Tensor size_q = log_size(q);
  const Tensor sizes = sub(size_q, log_size(p), 1, at);
  const Tensor ratio = linalg::solve_triangular(q.scale_tril(), p.scale_tril(), false, true, false, at);
  const Tensor trace = sum(square(ratio, at), {-2, -1}, false, {}, at);
  const Tensor distance = unsqueeze(sub(q.loc(), p.loc(), 1, at), -1, at);
  const Tensor standard = linalg::solve_triangular(q.scale_tril(), distance, false, true, false, at);
  const Tensor squares = sum(square(standard, at), {-2, -1}, false, {}, at);
  const Tensor both = sub(add(trace, squares, 1, at), static_cast<double>(p.loc().size(-1)), 1, at);
  return add(sizes, mul(both, 0.5, at), 1, at);
}

Tensor formula(const Independent& p, const Independent& q, SourceLocation at) {
  if (p.dimensions() != q.dimensions())
    throw UserError("distributions::kl_divergence: two Independent have other numbers of dimensions", at);
  Tensor out = kl_divergence(p.base(), q.base(), at);
  for (int64_t i = 0; i < p.dimensions(); ++i) out = sum(out, {-1}, false, {}, at);
  return out;
}

// The first pair of types that p and q have.
template <class P, class Q>
struct Pair {};
template <class P, class Q>
bool apply(Pair<P, Q>, const Distribution& p, const Distribution& q, Tensor& out, SourceLocation at) {
  const P* const one = dynamic_cast<const P*>(&p);
  const Q* const other = dynamic_cast<const Q*>(&q);
  if (one && other) out = formula(*one, *other, at);
  return one && other;
}
template <class... Pairs>
std::optional<Tensor> apply_first(const Distribution& p, const Distribution& q, SourceLocation at, Pairs... pairs) {
  Tensor out;
  return (apply(pairs, p, q, out, at) || ...) ? std::optional(out) : std::nullopt;
}
template <class T>
using Same = Pair<T, T>;

}  // namespace

Tensor kl_divergence(const Distribution& p, const Distribution& q, SourceLocation at) {
  const std::optional<Tensor> found = apply_first(
      p, q, at, Same<Normal>(), Same<LogNormal>(), Same<Exponential>(), Same<Laplace>(), Same<Uniform>(),
      Pair<Uniform, Normal>(), Same<Gamma>(), Same<Beta>(), Same<Dirichlet>(), Same<Bernoulli>(), Same<Geometric>(),
      Same<Poisson>(), Same<Categorical>(), Same<OneHotCategorical>(), Same<MultivariateNormal>(), Same<Independent>());
  if (found) return *found;
  throw UserError(text::cat("distributions::kl_divergence: there is no formula for ", p.name(), " and ", q.name(),
                            "; the mean of p.log_prob(x) - q.log_prob(x) over samples x of p is an estimate"),
                  at);
}

}  // namespace fulgurite::distributions
