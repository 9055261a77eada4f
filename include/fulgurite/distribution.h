#pragma once
#include <fulgurite/detail/requirements.h>

#include <string_view>
#include <vector>

#include <fulgurite/random.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::distributions {

// Probability distributions (torch.distributions): `distributions::Normal policy(mean, std); auto action =
// policy.rsample(); auto score = policy.log_prob(action);`. Parameters are numbers or floating tensors, which broadcast
// to the batch shape; UserError for parameters out of range, which are checked eagerly, not while a function is traced.

/// The interface of all distributions. A sample has the shape [sample shape, batch shape, event shape]; log_prob() has
/// the value's shape without the event's dimensions.
class Distribution {
 public:
  virtual ~Distribution() = default;
  /// "Normal"
  std::string_view name() const { return name_; }
  /// The shape of the parameters.
  const Shape& batch_shape() const { return batch_shape_; }
  /// The shape of one draw: [] of numbers, [n] of vectors.
  const Shape& event_shape() const { return event_shape_; }
  /// The dtype of the parameters and of samples.
  Dtype dtype() const { return dtype_; }

  /// Draws without a history.
  Tensor sample(const Dims& sample_shape = {}, const GeneratorOption& generator = {},
                SourceLocation at = SourceLocation::here()) const;
  /// Draws with gradients to the parameters. Throws UserError unless has_rsample().
  Tensor rsample(const Dims& sample_shape = {}, const GeneratorOption& generator = {},
                 SourceLocation at = SourceLocation::here()) const;
  virtual bool has_rsample() const { return false; }
  /// The logarithm of the density or probability; minus infinity outside of the support.
  virtual Tensor log_prob(const Tensor& value, SourceLocation at = SourceLocation::here()) const = 0;
  /// Shape [batch shape, event shape].
  virtual Tensor mean(SourceLocation at = SourceLocation::here()) const;
  virtual Tensor variance(SourceLocation at = SourceLocation::here()) const;
  Tensor stddev(SourceLocation at = SourceLocation::here()) const;
  /// In nats, of the batch shape.
  virtual Tensor entropy(SourceLocation at = SourceLocation::here()) const;
  /// The probability of at most this value, and its inverse.
  virtual Tensor cdf(const Tensor& value, SourceLocation at = SourceLocation::here()) const;
  virtual Tensor icdf(const Tensor& probability, SourceLocation at = SourceLocation::here()) const;

 protected:
  Distribution(std::string_view name, Shape batch_shape, Shape event_shape, Dtype dtype)
      : name_(name), batch_shape_(std::move(batch_shape)), event_shape_(std::move(event_shape)), dtype_(dtype) {}
  /// A draw of this complete shape.
  virtual Tensor draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const = 0;
  /// UserError: the distribution does not have this.
  [[noreturn]] void refuse(std::string_view what, SourceLocation at) const;
  RandomOptions options(const GeneratorOption& generator) const { return {.dtype = dtype_, .generator = generator}; }

 private:
  Shape drawn_shape(const Dims& sample_shape) const;
  std::string_view name_;
  Shape batch_shape_, event_shape_;
  Dtype dtype_;
};

/// A distribution of numbers with a location and a scale above 0, or with one or two other parameters.
class Parametrized : public Distribution {
 protected:
  enum class Range { any, positive, probability, not_negative };
  struct Parameter {
    const char* name;
    Operand value;
    Range range;
  };
  Parametrized(std::string_view name, const std::vector<Parameter>& parameters, SourceLocation at);
  /// The parameter in the batch shape.
  const Tensor& parameter(size_t i) const { return parameters_[i]; }

 private:
  Parametrized(std::string_view name, std::vector<Tensor> parameters);
  static std::vector<Tensor> broadcast_parameters(std::string_view name, const std::vector<Parameter>& parameters,
                                                  SourceLocation at);
  static void check(std::string_view name, const Parameter& parameter, const Tensor& value, SourceLocation at);
  std::vector<Tensor> parameters_;
};

}  // namespace fulgurite::distributions
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
