#pragma once
#include <fulgurite/detail/requirements.h>

#include <fulgurite/distribution.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::distributions {

/// The normal distribution.
class Normal : public Parametrized {
 public:
  Normal(const Operand& loc, const Operand& scale, SourceLocation at = SourceLocation::here());
  const Tensor& loc() const { return parameter(0); }
  const Tensor& scale() const { return parameter(1); }
  bool has_rsample() const override { return true; }
  Tensor log_prob(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;
  Tensor mean(SourceLocation = SourceLocation::here()) const override { return loc(); }
  Tensor variance(SourceLocation at = SourceLocation::here()) const override;
  Tensor entropy(SourceLocation at = SourceLocation::here()) const override;
  Tensor cdf(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;
  Tensor icdf(const Tensor& probability, SourceLocation at = SourceLocation::here()) const override;

 protected:
  Tensor draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const override;
};

/// The exponential of a normal number.
class LogNormal : public Parametrized {
 public:
  LogNormal(const Operand& loc, const Operand& scale, SourceLocation at = SourceLocation::here());
  const Tensor& loc() const { return parameter(0); }
  const Tensor& scale() const { return parameter(1); }
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

/// The magnitude of a normal number of mean 0.
class HalfNormal : public Parametrized {
 public:
  explicit HalfNormal(const Operand& scale, SourceLocation at = SourceLocation::here());
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

/// Even numbers from `low` to below `high`.
class Uniform : public Parametrized {
 public:
  Uniform(const Operand& low, const Operand& high, SourceLocation at = SourceLocation::here());
  const Tensor& low() const { return parameter(0); }
  const Tensor& high() const { return parameter(1); }
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

/// Waiting times of events that occur `rate` times in a unit of time.
class Exponential : public Parametrized {
 public:
  explicit Exponential(const Operand& rate, SourceLocation at = SourceLocation::here());
  const Tensor& rate() const { return parameter(0); }
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

/// The double exponential distribution.
class Laplace : public Parametrized {
 public:
  Laplace(const Operand& loc, const Operand& scale, SourceLocation at = SourceLocation::here());
  const Tensor& loc() const { return parameter(0); }
  const Tensor& scale() const { return parameter(1); }
  bool has_rsample() const override { return true; }
  Tensor log_prob(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;
  Tensor mean(SourceLocation = SourceLocation::here()) const override { return loc(); }
  Tensor variance(SourceLocation at = SourceLocation::here()) const override;
  Tensor entropy(SourceLocation at = SourceLocation::here()) const override;
  Tensor cdf(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;
  Tensor icdf(const Tensor& probability, SourceLocation at = SourceLocation::here()) const override;

 protected:
  Tensor draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const override;
};

/// Cauchy's distribution; it has no mean: NaN, and its variance is infinite.
class Cauchy : public Parametrized {
 public:
  Cauchy(const Operand& loc, const Operand& scale, SourceLocation at = SourceLocation::here());
  const Tensor& loc() const { return parameter(0); }
  const Tensor& scale() const { return parameter(1); }
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

/// The distribution of the largest of many numbers.
class Gumbel : public Parametrized {
 public:
  Gumbel(const Operand& loc, const Operand& scale, SourceLocation at = SourceLocation::here());
  const Tensor& loc() const { return parameter(0); }
  const Tensor& scale() const { return parameter(1); }
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

/// The gamma distribution of a shape (`concentration`) and a rate. Draws have gradients of first order, and cause a
/// graph break while tracing.
class Gamma : public Parametrized {
 public:
  Gamma(const Operand& concentration, const Operand& rate, SourceLocation at = SourceLocation::here());
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

/// The beta distribution on [0, 1]. Draws as of Gamma.
class Beta : public Parametrized {
 public:
  Beta(const Operand& concentration1, const Operand& concentration0, SourceLocation at = SourceLocation::here());
  const Tensor& concentration1() const { return parameter(0); }
  const Tensor& concentration0() const { return parameter(1); }
  bool has_rsample() const override { return true; }
  Tensor log_prob(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;
  Tensor mean(SourceLocation at = SourceLocation::here()) const override;
  Tensor variance(SourceLocation at = SourceLocation::here()) const override;
  Tensor entropy(SourceLocation at = SourceLocation::here()) const override;

 protected:
  Tensor draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const override;
};

/// Student's distribution of `df` degrees of freedom. Draws as of Gamma.
class StudentT : public Parametrized {
 public:
  StudentT(const Operand& df, const Operand& loc = 0.0, const Operand& scale = 1.0,
           SourceLocation at = SourceLocation::here());
  const Tensor& df() const { return parameter(0); }
  const Tensor& loc() const { return parameter(1); }
  const Tensor& scale() const { return parameter(2); }
  bool has_rsample() const override { return true; }
  Tensor log_prob(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;
  /// NaN for df <= 1.
  Tensor mean(SourceLocation at = SourceLocation::here()) const override;
  /// Infinite for 1 < df <= 2, NaN below.
  Tensor variance(SourceLocation at = SourceLocation::here()) const override;
  Tensor entropy(SourceLocation at = SourceLocation::here()) const override;

 protected:
  Tensor draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const override;
};

}  // namespace fulgurite::distributions
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
