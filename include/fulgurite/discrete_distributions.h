#pragma once
#include <fulgurite/detail/requirements.h>

#include <optional>

#include <fulgurite/distribution.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::distributions {

/// The logarithms of odds, `distributions::Bernoulli(Logits{x})` or `Bernoulli({.logits = x})`: unnormalized ones of
/// classes.
struct Logits {
  Operand logits;
};
/// Probabilities, `distributions::Bernoulli({.probs = x})`, the same as `Bernoulli(x)`.
struct Probabilities {
  Operand probs;
};

/// 1 with a probability, else 0; as a floating tensor.
class Bernoulli : public Parametrized {
 public:
  explicit Bernoulli(const Operand& probs, SourceLocation at = SourceLocation::here());
  explicit Bernoulli(const Logits& logits, SourceLocation at = SourceLocation::here());
  explicit Bernoulli(const Probabilities& probabilities, SourceLocation at = SourceLocation::here());
  Tensor probs(SourceLocation at = SourceLocation::here()) const;
  Tensor logits(SourceLocation at = SourceLocation::here()) const;
  Tensor log_prob(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;
  Tensor mean(SourceLocation at = SourceLocation::here()) const override { return probs(at); }
  Tensor variance(SourceLocation at = SourceLocation::here()) const override;
  Tensor entropy(SourceLocation at = SourceLocation::here()) const override;

 protected:
  Tensor draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const override;

 private:
  bool has_logits_ = false;
};

/// The number of failures before the first success: 0, 1, …; as a floating tensor.
class Geometric : public Parametrized {
 public:
  explicit Geometric(const Operand& probs, SourceLocation at = SourceLocation::here());
  const Tensor& probs() const { return parameter(0); }
  Tensor log_prob(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;
  Tensor mean(SourceLocation at = SourceLocation::here()) const override;
  Tensor variance(SourceLocation at = SourceLocation::here()) const override;
  Tensor entropy(SourceLocation at = SourceLocation::here()) const override;

 protected:
  Tensor draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const override;
};

/// Counts of events of a mean rate; as a floating tensor.
class Poisson : public Parametrized {
 public:
  explicit Poisson(const Operand& rate, SourceLocation at = SourceLocation::here());
  const Tensor& rate() const { return parameter(0); }
  Tensor log_prob(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;
  Tensor mean(SourceLocation = SourceLocation::here()) const override { return rate(); }
  Tensor variance(SourceLocation = SourceLocation::here()) const override { return rate(); }

 protected:
  Tensor draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const override;
};

/// Counts of successes in `total_count` trials; as a floating tensor.
class Binomial : public Parametrized {
 public:
  Binomial(int64_t total_count, const Operand& probs, SourceLocation at = SourceLocation::here());
  int64_t total_count() const { return total_count_; }
  const Tensor& probs() const { return parameter(0); }
  Tensor log_prob(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;
  Tensor mean(SourceLocation at = SourceLocation::here()) const override;
  Tensor variance(SourceLocation at = SourceLocation::here()) const override;
  Tensor entropy(SourceLocation at = SourceLocation::here()) const override;

 protected:
  Tensor draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const override;

 private:
  int64_t total_count_;
};

/// One of n classes, with the weights in the last dimension of a tensor; samples are i64. The mean and the variance are
/// NaN.
class Categorical : public Distribution {
 public:
  /// UserError unless the weights are not negative, finite and not all 0.
  explicit Categorical(const Tensor& probs, SourceLocation at = SourceLocation::here());
  explicit Categorical(const Logits& logits, SourceLocation at = SourceLocation::here());
  explicit Categorical(const Probabilities& probabilities, SourceLocation at = SourceLocation::here());
  /// Normalized, [batch shape, n].
  Tensor probs(SourceLocation at = SourceLocation::here()) const;
  const Tensor& logits() const { return logits_; }
  int64_t classes() const { return logits_.size(-1); }
  Tensor log_prob(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;
  Tensor mean(SourceLocation at = SourceLocation::here()) const override;
  Tensor variance(SourceLocation at = SourceLocation::here()) const override;
  Tensor entropy(SourceLocation at = SourceLocation::here()) const override;

 protected:
  Tensor draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const override;

 private:
  struct LogShares {
    Tensor value;
  };
  explicit Categorical(LogShares logits);
  Tensor logits_;  // logarithms of probabilities
};

/// A vector with a 1 at the class that Categorical draws, and 0 elsewhere.
class OneHotCategorical : public Distribution {
 public:
  explicit OneHotCategorical(const Tensor& probs, SourceLocation at = SourceLocation::here());
  explicit OneHotCategorical(const Logits& logits, SourceLocation at = SourceLocation::here());
  explicit OneHotCategorical(const Probabilities& probabilities, SourceLocation at = SourceLocation::here());
  Tensor probs(SourceLocation at = SourceLocation::here()) const { return classes_.probs(at); }
  const Tensor& logits() const { return classes_.logits(); }
  Tensor log_prob(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;
  Tensor mean(SourceLocation at = SourceLocation::here()) const override { return probs(at); }
  Tensor variance(SourceLocation at = SourceLocation::here()) const override;
  Tensor entropy(SourceLocation at = SourceLocation::here()) const override { return classes_.entropy(at); }

 protected:
  Tensor draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const override;

 private:
  explicit OneHotCategorical(Categorical classes);
  Categorical classes_;
};

}  // namespace fulgurite::distributions
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
