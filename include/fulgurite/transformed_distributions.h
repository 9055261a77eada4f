#pragma once
#include <fulgurite/detail/requirements.h>

#include <concepts>
#include <memory>
#include <vector>

#include <fulgurite/distribution.h>
#include <fulgurite/multivariate_distributions.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::distributions {

/// An invertible function of each element, with the logarithm of its slope (torch.distributions.transforms). Programs
/// derive their own.
class Transform {
 public:
  virtual ~Transform() = default;
  virtual Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const = 0;
  virtual Tensor inverse(const Tensor& y, SourceLocation at = SourceLocation::here()) const = 0;
  /// log |dy / dx| of each element, of an x and its y.
  virtual Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y,
                                      SourceLocation at = SourceLocation::here()) const = 0;
};
using AnyTransform = std::shared_ptr<const Transform>;

/// loc + scale x.
class AffineTransform : public Transform {
 public:
  AffineTransform(const Operand& loc, const Operand& scale, SourceLocation at = SourceLocation::here());
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const override;
  Tensor inverse(const Tensor& y, SourceLocation at = SourceLocation::here()) const override;
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y,
                              SourceLocation at = SourceLocation::here()) const override;

 private:
  Tensor loc_, scale_;
};
/// The exponential.
class ExpTransform : public Transform {
 public:
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const override;
  Tensor inverse(const Tensor& y, SourceLocation at = SourceLocation::here()) const override;
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y,
                              SourceLocation at = SourceLocation::here()) const override;
};
/// The logistic function: to numbers between 0 and 1.
class SigmoidTransform : public Transform {
 public:
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const override;
  Tensor inverse(const Tensor& y, SourceLocation at = SourceLocation::here()) const override;
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y,
                              SourceLocation at = SourceLocation::here()) const override;
};
/// The hyperbolic tangent: to numbers between -1 and 1. log_prob() of a draw that rounds to 1 is infinite or NaN; keep
/// the number before the transform, or clamp.
class TanhTransform : public Transform {
 public:
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const override;
  Tensor inverse(const Tensor& y, SourceLocation at = SourceLocation::here()) const override;
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y,
                              SourceLocation at = SourceLocation::here()) const override;
};
/// log(1 + exp(x)): to positive numbers.
class SoftplusTransform : public Transform {
 public:
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const override;
  Tensor inverse(const Tensor& y, SourceLocation at = SourceLocation::here()) const override;
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y,
                              SourceLocation at = SourceLocation::here()) const override;
};
/// A power of positive numbers.
class PowerTransform : public Transform {
 public:
  explicit PowerTransform(const Operand& exponent, SourceLocation at = SourceLocation::here());
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const override;
  Tensor inverse(const Tensor& y, SourceLocation at = SourceLocation::here()) const override;
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y,
                              SourceLocation at = SourceLocation::here()) const override;

 private:
  Tensor exponent_;
};

/// Draws of another distribution, transformed one after the other:
///
///     distributions::TransformedDistribution policy(distributions::Normal(mean, scale),
///     distributions::TanhTransform()); Tensor action = policy.rsample();
class TransformedDistribution : public Distribution {
 public:
  /// UserError if the base or a transform is null.
  TransformedDistribution(AnyDistribution base, std::vector<AnyTransform> transforms,
                          SourceLocation at = SourceLocation::here());
  template <std::derived_from<Distribution> Base, std::derived_from<Transform>... T>
  explicit TransformedDistribution(const Base& base, const T&... transforms)
      : TransformedDistribution(std::make_shared<const Base>(base),
                                std::vector<AnyTransform>{std::make_shared<const T>(transforms)...}) {}
  const Distribution& base() const { return *base_; }
  bool has_rsample() const override { return base_->has_rsample(); }
  Tensor log_prob(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;

 protected:
  Tensor draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const override;

 private:
  AnyDistribution base_;
  std::vector<AnyTransform> transforms_;
};

}  // namespace fulgurite::distributions
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
