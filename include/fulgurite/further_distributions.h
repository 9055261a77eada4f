#pragma once
#include <fulgurite/detail/requirements.h>

#include <fulgurite/discrete_distributions.h>
#include <fulgurite/distribution.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::distributions {

/// Lifetimes whose rate of failure is a power of their age.
class Weibull : public Parametrized {
 public:
  Weibull(const Operand& scale, const Operand& concentration, SourceLocation at = SourceLocation::here());
  const Tensor& scale() const { return parameter(0); }
  const Tensor& concentration() const { return parameter(1); }
  bool has_rsample() const override { return true; }
  Tensor log_prob(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;
  Tensor mean(SourceLocation at = SourceLocation::here()) const override;
  Tensor variance(SourceLocation at = SourceLocation::here()) const override;
  Tensor entropy(SourceLocation at = SourceLocation::here()) const override;
  Tensor cdf(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;
  Tensor icdf(const Tensor& probability, SourceLocation at = SourceLocation::here()) const override;

 protected:
  Tensor draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const override;
};

/// A power law above `scale`. The mean is infinite for alpha <= 1, the variance for alpha <= 2.
class Pareto : public Parametrized {
 public:
  Pareto(const Operand& scale, const Operand& alpha, SourceLocation at = SourceLocation::here());
  const Tensor& scale() const { return parameter(0); }
  const Tensor& alpha() const { return parameter(1); }
  bool has_rsample() const override { return true; }
  Tensor log_prob(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;
  Tensor mean(SourceLocation at = SourceLocation::here()) const override;
  Tensor variance(SourceLocation at = SourceLocation::here()) const override;
  Tensor entropy(SourceLocation at = SourceLocation::here()) const override;
  Tensor cdf(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;
  Tensor icdf(const Tensor& probability, SourceLocation at = SourceLocation::here()) const override;

 protected:
  Tensor draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const override;
};

/// The magnitude of a number of Cauchy's distribution around 0; its mean and variance are infinite.
class HalfCauchy : public Parametrized {
 public:
  explicit HalfCauchy(const Operand& scale, SourceLocation at = SourceLocation::here());
  const Tensor& scale() const { return parameter(0); }
  bool has_rsample() const override { return true; }
  Tensor log_prob(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;
  Tensor mean(SourceLocation at = SourceLocation::here()) const override;
  Tensor variance(SourceLocation at = SourceLocation::here()) const override;
  Tensor entropy(SourceLocation at = SourceLocation::here()) const override;
  Tensor cdf(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;
  Tensor icdf(const Tensor& probability, SourceLocation at = SourceLocation::here()) const override;

 protected:
  Tensor draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const override;
};

/// The sum of the squares of `df` standard normal numbers. Draws as of Gamma.
class Chi2 : public Parametrized {
 public:
  explicit Chi2(const Operand& df, SourceLocation at = SourceLocation::here());
  const Tensor& df() const { return parameter(0); }
  bool has_rsample() const override { return true; }
  Tensor log_prob(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;
  Tensor mean(SourceLocation at = SourceLocation::here()) const override;
  Tensor variance(SourceLocation at = SourceLocation::here()) const override;
  Tensor entropy(SourceLocation at = SourceLocation::here()) const override;
  Tensor cdf(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;

 protected:
  Tensor draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const override;
};

/// The reciprocal of a number of Gamma. Draws as of it. The mean is infinite for concentration <= 1, the variance for
/// concentration <= 2.
class InverseGamma : public Parametrized {
 public:
  InverseGamma(const Operand& concentration, const Operand& rate, SourceLocation at = SourceLocation::here());
  const Tensor& concentration() const { return parameter(0); }
  const Tensor& rate() const { return parameter(1); }
  bool has_rsample() const override { return true; }
  Tensor log_prob(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;
  Tensor mean(SourceLocation at = SourceLocation::here()) const override;
  Tensor variance(SourceLocation at = SourceLocation::here()) const override;
  Tensor entropy(SourceLocation at = SourceLocation::here()) const override;
  Tensor cdf(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;

 protected:
  Tensor draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const override;
};

/// Successes of probability `probs` before `total_count` failures, which need not be an integer.
class NegativeBinomial : public Parametrized {
 public:
  NegativeBinomial(const Operand& total_count, const Operand& probs, SourceLocation at = SourceLocation::here());
  const Tensor& total_count() const { return parameter(0); }
  const Tensor& probs() const { return parameter(1); }
  Tensor log_prob(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;
  Tensor mean(SourceLocation at = SourceLocation::here()) const override;
  Tensor variance(SourceLocation at = SourceLocation::here()) const override;

 protected:
  Tensor draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const override;
};

/// The numbers of draws of each class among `total_count` draws of a Categorical: vectors [n].
class Multinomial : public Distribution {
 public:
  Multinomial(int64_t total_count, const Tensor& probs, SourceLocation at = SourceLocation::here());
  Multinomial(int64_t total_count, const Logits& logits, SourceLocation at = SourceLocation::here());
  Multinomial(int64_t total_count, const Probabilities& probabilities, SourceLocation at = SourceLocation::here());
  int64_t total_count() const { return total_count_; }
  Tensor probs(SourceLocation at = SourceLocation::here()) const { return classes_.probs(at); }
  const Tensor& logits() const { return classes_.logits(); }
  Tensor log_prob(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;
  Tensor mean(SourceLocation at = SourceLocation::here()) const override;
  Tensor variance(SourceLocation at = SourceLocation::here()) const override;

 protected:
  Tensor draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const override;

 private:
  Multinomial(int64_t total_count, Categorical classes, SourceLocation at);
  int64_t total_count_;
  Categorical classes_;
};

/// Numbers between 0 and 1 near the draws of a Bernoulli; nearer for lower temperatures. Draws have gradients.
class RelaxedBernoulli : public Parametrized {
 public:
  RelaxedBernoulli(const Operand& temperature, const Operand& probs, SourceLocation at = SourceLocation::here());
  RelaxedBernoulli(const Operand& temperature, const Logits& logits, SourceLocation at = SourceLocation::here());
  const Tensor& temperature() const { return parameter(0); }
  const Tensor& logits() const { return logits_; }
  bool has_rsample() const override { return true; }
  Tensor log_prob(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;

 protected:
  Tensor draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const override;

 private:
  Tensor logits_;
};

/// Positive vectors that sum to 1 near the draws of a OneHotCategorical; nearer for lower temperatures. Draws have
/// gradients (Gumbel-softmax).
class RelaxedOneHotCategorical : public Distribution {
 public:
  RelaxedOneHotCategorical(const Operand& temperature, const Tensor& probs, SourceLocation at = SourceLocation::here());
  RelaxedOneHotCategorical(const Operand& temperature, const Logits& logits,
                           SourceLocation at = SourceLocation::here());
  const Tensor& temperature() const { return temperature_; }
  Tensor probs(SourceLocation at = SourceLocation::here()) const { return classes_.probs(at); }
  const Tensor& logits() const { return classes_.logits(); }
  bool has_rsample() const override { return true; }
  Tensor log_prob(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;

 protected:
  Tensor draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const override;

 private:
  RelaxedOneHotCategorical(const Operand& temperature, Categorical classes, SourceLocation at);
  Tensor temperature_;
  Categorical classes_;
};

}  // namespace fulgurite::distributions
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
