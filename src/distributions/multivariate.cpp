// MultivariateNormal, Independent and MixtureSameFamily.
#include <cmath>
#include <numbers>

#include <fulgurite/compositions.h>
#include <fulgurite/error.h>
#include <fulgurite/multivariate_distributions.h>
#include <fulgurite/operators.h>

#include "distributions/standard_draws.h"
#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::distributions {

namespace {

Shape first_of(const Shape& shape, size_t count) { return Shape(shape.data(), count); }

Shape joined(const Shape& a, const Shape& b) {
  Shape out = a;
  for (const Int& size : b) out.push_back(size);
  return out;
}

Tensor sum_of_last(const Tensor& tensor, int64_t count, SourceLocation at) {
  if (count == 0) return tensor;
  Shape dims;
  for (int64_t i = 1; i <= count; ++i) dims.push_back(-i);
  return sum(tensor, Dims(dims), false, {}, at);
}

// The mean [..., n] and the factor [..., n, n] in their common batch shape.
std::pair<Tensor, Tensor> matched(const Tensor& loc, const Tensor& matrix, const char* what, SourceLocation at) {
  const bool is_good = loc.defined() && matrix.defined() && loc.ndim() >= 1 && matrix.ndim() >= 2 &&
                       is_floating(loc.dtype()) && loc.dtype() == matrix.dtype() && matrix.size(-1) == loc.size(-1) &&
                       matrix.size(-2) == loc.size(-1);
  if (!is_good)
    throw UserError(text::cat("distributions::MultivariateNormal: loc is floating [..., n] and ", what,
                              " [..., n, n] of its dtype, not ", loc.defined() ? type_text(loc) : "undefined", " and ",
                              matrix.defined() ? type_text(matrix) : "undefined"),
                    at);
  const std::vector<Tensor> parts = broadcast_tensors({unsqueeze(loc, -1, at), matrix}, at);
  return {select(parts[0], -1, 0, at), parts[1]};
}

}  // namespace

MultivariateNormal::MultivariateNormal(Factored parts)
    : Distribution("MultivariateNormal", first_of(parts.loc.shape(), static_cast<size_t>(parts.loc.ndim()) - 1),
                   {parts.loc.size(-1)}, parts.loc.dtype()),
      loc_(parts.loc),
      scale_tril_(parts.scale_tril) {}
MultivariateNormal::MultivariateNormal(const Tensor& loc, const Tensor& covariance_matrix, SourceLocation at)
    : MultivariateNormal([&] {
        const auto [mean, matrix] = matched(loc, covariance_matrix, "covariance_matrix", at);
        return Factored{mean, linalg::cholesky(matrix, false, at)};
      }()) {}
MultivariateNormal MultivariateNormal::from_scale_tril(const Tensor& loc, const Tensor& scale_tril, SourceLocation at) {
  const auto [mean, factor] = matched(loc, scale_tril, "scale_tril", at);
  return MultivariateNormal(Factored{mean, factor});
}
Tensor MultivariateNormal::covariance_matrix(SourceLocation at) const {
  return matmul(scale_tril_, transpose(scale_tril_, -2, -1, at), at);
}
Tensor MultivariateNormal::variance(SourceLocation at) const {
  return sum(square(scale_tril_, at), {-1}, false, {}, at);
}

namespace {

Tensor log_size(const Tensor& scale_tril, SourceLocation at) {
  return sum(log(diagonal(scale_tril, 0, -2, -1, at), at), {-1}, false, {}, at);
}

}  // namespace

Tensor MultivariateNormal::log_prob(const Tensor& value, SourceLocation at) const {
  const Tensor distance = unsqueeze(sub(value, loc_, 1, at), -1, at);
  const std::vector<Tensor> parts = broadcast_tensors({narrow(scale_tril_, -1, 0, 1, at), distance}, at);
  const Shape shape =
      joined(first_of(parts[0].shape(), static_cast<size_t>(parts[0].ndim()) - 1), {scale_tril_.size(-1)});
  const Tensor factor = expand(scale_tril_, Dims(shape), at);
  const Tensor standard = linalg::solve_triangular(factor, parts[1], false, true, false, at);
  const Tensor squares = sum(square(squeeze(standard, {-1}, at), at), {-1}, false, {}, at);
  const double n = static_cast<double>(loc_.size(-1));
  const Tensor exponent = mul(add(squares, n * std::log(2 * std::numbers::pi), 1, at), -0.5, at);
  return sub(exponent, log_size(scale_tril_, at), 1, at);
}
Tensor MultivariateNormal::entropy(SourceLocation at) const {
  const double n = static_cast<double>(loc_.size(-1));
  return add(log_size(scale_tril_, at), n * 0.5 * (1 + std::log(2 * std::numbers::pi)), 1, at);
}
Tensor MultivariateNormal::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  const Tensor standard = unsqueeze(standard_normal(shape, options(generator), at), -1, at);
  return add(loc_, squeeze(matmul(scale_tril_, standard, at), {-1}, at), 1, at);
}

namespace {

const AnyDistribution& checked(const AnyDistribution& base, int64_t dimensions, SourceLocation at) {
  if (!base) throw UserError("distributions::Independent: the base is null", at);
  if (dimensions < 0 || static_cast<size_t>(dimensions) > base->batch_shape().size())
    throw UserError(text::cat("distributions::Independent: ", dimensions, " dimensions of a batch of shape ",
                              base->batch_shape().text()),
                    at);
  return base;
}

// Arguments are evaluated in any order: each of these checks.
Shape remaining_batch(const AnyDistribution& base, int64_t dimensions, SourceLocation at) {
  const Shape& batch = checked(base, dimensions, at)->batch_shape();
  return first_of(batch, batch.size() - static_cast<size_t>(dimensions));
}
Shape joined_event(const AnyDistribution& base, int64_t dimensions, SourceLocation at) {
  const Shape& batch = checked(base, dimensions, at)->batch_shape();
  return joined(Shape(batch.end() - dimensions, static_cast<size_t>(dimensions)), base->event_shape());
}

}  // namespace

Independent::Independent(AnyDistribution base, int64_t dimensions, SourceLocation at)
    : Distribution("Independent", remaining_batch(base, dimensions, at), joined_event(base, dimensions, at),
                   checked(base, dimensions, at)->dtype()),
      base_(std::move(base)),
      dimensions_(dimensions) {}
Tensor Independent::log_prob(const Tensor& value, SourceLocation at) const {
  return sum_of_last(base_->log_prob(value, at), dimensions_, at);
}
Tensor Independent::entropy(SourceLocation at) const { return sum_of_last(base_->entropy(at), dimensions_, at); }
Tensor Independent::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  const size_t own = base_->batch_shape().size() + base_->event_shape().size();
  const Shape samples = first_of(shape, shape.size() - own);
  return base_->has_rsample() ? base_->rsample(Dims(samples), generator, at)
                              : base_->sample(Dims(samples), generator, at);
}

namespace {

const AnyDistribution& checked(const Categorical& mixture, const AnyDistribution& components, SourceLocation at) {
  if (!components) throw UserError("distributions::MixtureSameFamily: the components are null", at);
  const Shape& batch = components->batch_shape();
  if (batch.empty() || batch.back() != mixture.classes())
    throw UserError(text::cat("distributions::MixtureSameFamily: ", mixture.classes(),
                              " classes for components of the batch shape ", batch.text()),
                    at);
  return components;
}

Shape without_last(const Shape& shape) { return first_of(shape, shape.size() - 1); }

}  // namespace

MixtureSameFamily::MixtureSameFamily(Categorical mixture, AnyDistribution components, SourceLocation at)
    : Distribution("MixtureSameFamily", without_last(checked(mixture, components, at)->batch_shape()),
                   checked(mixture, components, at)->event_shape(), checked(mixture, components, at)->dtype()),
      mixture_(std::move(mixture)),
      components_(std::move(components)) {}

// [batch shape, classes, 1 for each dimension of the event]
Tensor MixtureSameFamily::weights(SourceLocation at) const {
  Tensor out = mixture_.probs(at);
  for (size_t i = 0; i < event_shape().size(); ++i) out = unsqueeze(out, -1, at);
  return out;
}
Tensor MixtureSameFamily::log_prob(const Tensor& value, SourceLocation at) const {
  const int64_t component = -1 - static_cast<int64_t>(event_shape().size());
  const Tensor each = components_->log_prob(unsqueeze(value, component, at), at);
  return logsumexp(add(each, mixture_.logits(), 1, at), {-1}, false, at);
}
Tensor MixtureSameFamily::mean(SourceLocation at) const {
  const Tensor means = components_->mean(at);
  return sum(mul(weights(at), means, at), {-1 - static_cast<int64_t>(event_shape().size())}, false, {}, at);
}
Tensor MixtureSameFamily::variance(SourceLocation at) const {
  const int64_t component = -1 - static_cast<int64_t>(event_shape().size());
  const Tensor share = weights(at);
  const Tensor within = sum(mul(share, components_->variance(at), at), {component}, false, {}, at);
  const Tensor means = components_->mean(at);
  const Tensor centre = sum(mul(share, means, at), {component}, true, {}, at);
  const Tensor distance = square(sub(means, centre, 1, at), at);
  return add(within, sum(mul(share, distance, at), {component}, false, {}, at), 1, at);
}
Tensor MixtureSameFamily::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  const size_t own = batch_shape().size() + event_shape().size();
  const Dims samples(first_of(shape, shape.size() - own));
  Tensor chosen = mixture_.sample(samples, generator, at);
  const Tensor each = components_->sample(samples, generator, at);
  chosen = unsqueeze(chosen, -1, at);
  for (size_t i = 0; i < event_shape().size(); ++i) chosen = unsqueeze(chosen, -1, at);
  const int64_t component = -1 - static_cast<int64_t>(event_shape().size());
  Shape index = each.shape();
  index[index.size() + static_cast<size_t>(component)] = 1;
  return squeeze(gather(each, component, expand(chosen, Dims(index), at), at), {component}, at);
}

}  // namespace fulgurite::distributions
