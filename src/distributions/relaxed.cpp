// Relaxed discrete distributions, whose draws have gradients.
#include <cmath>

#include <fulgurite/error.h>
#include <fulgurite/further_distributions.h>
#include <fulgurite/operators.h>

#include "distributions/standard_draws.h"

namespace fulgurite::distributions {

namespace {

// log(u / (1 - u)) of even numbers u.
Tensor standard_logistic(const Shape& shape, const RandomOptions& options, SourceLocation at) {
  return logit(open_uniform(shape, options, at), {}, at);
}

Tensor standard_gumbel(const Shape& shape, const RandomOptions& options, SourceLocation at) {
  return neg(log(standard_exponential(shape, options, at), at), at);
}

// A temperature in a dtype, one for all classes.
Tensor checked_temperature(const Operand& temperature, Dtype dtype, SourceLocation at) {
  Tensor value = mul(ones({}, {.dtype = dtype}, at), temperature, at).to(dtype, at);
  if (value.ndim() != 0)
    throw UserError("distributions::RelaxedOneHotCategorical: the temperature must be one number", at);
  return value;
}

}  // namespace

RelaxedBernoulli::RelaxedBernoulli(const Operand& temperature, const Operand& probs, SourceLocation at)
    : Parametrized("RelaxedBernoulli",
                   {{"temperature", temperature, Range::positive}, {"probs", probs, Range::probability}}, at),
      logits_(logit(parameter(1), {}, at)) {}
RelaxedBernoulli::RelaxedBernoulli(const Operand& temperature, const Logits& logits, SourceLocation at)
    : Parametrized("RelaxedBernoulli",
                   {{"temperature", temperature, Range::positive}, {"logits", logits.logits, Range::any}}, at),
      logits_(parameter(1)) {}
Tensor RelaxedBernoulli::log_prob(const Tensor& value, SourceLocation at) const {
  const Tensor place = logit(value, {}, at);
  const Tensor difference = sub(logits_, mul(temperature(), place, at), 1, at);
  const Tensor spread = mul(nn::softplus(difference, 1.0, 20.0, at), 2, at);
  const Tensor density = sub(add(log(temperature(), at), difference, 1, at), spread, 1, at);
  const Tensor slope = add(log(value, at), log1p(neg(value, at), at), 1, at);  // of the sigmoid
  return sub(density, slope, 1, at);
}
Tensor RelaxedBernoulli::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  const Tensor noise = standard_logistic(shape, options(generator), at);
  return sigmoid(div(add(noise, logits_, 1, at), temperature(), {}, at), at);
}

RelaxedOneHotCategorical::RelaxedOneHotCategorical(const Operand& temperature, Categorical classes, SourceLocation at)
    : Distribution("RelaxedOneHotCategorical", classes.batch_shape(), {classes.classes()}, classes.dtype()),
      temperature_(checked_temperature(temperature, classes.dtype(), at)),
      classes_(std::move(classes)) {}
RelaxedOneHotCategorical::RelaxedOneHotCategorical(const Operand& temperature, const Tensor& probs, SourceLocation at)
    : RelaxedOneHotCategorical(temperature, Categorical(probs, at), at) {}
RelaxedOneHotCategorical::RelaxedOneHotCategorical(const Operand& temperature, const Logits& logits, SourceLocation at)
    : RelaxedOneHotCategorical(temperature, Categorical(logits, at), at) {}
Tensor RelaxedOneHotCategorical::log_prob(const Tensor& value, SourceLocation at) const {
  const double classes = static_cast<double>(classes_.classes());
  const Tensor places = log(value, at);
  const Tensor scores = sub(logits(), mul(places, temperature_, at), 1, at);
  const Tensor shares = sum(log_softmax(scores, -1, {}, at), {-1}, false, {}, at);
  const Tensor scale = add(mul(log(temperature_, at), classes - 1, at), std::lgamma(classes), 1, at);
  return sub(add(shares, scale, 1, at), sum(places, {-1}, false, {}, at), 1, at);
}
Tensor RelaxedOneHotCategorical::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  const Tensor noise = standard_gumbel(shape, options(generator), at);
  return softmax(div(add(noise, logits(), 1, at), temperature_, {}, at), -1, {}, at);
}

}  // namespace fulgurite::distributions
