#pragma once
#include <fulgurite/detail/requirements.h>

#include <concepts>
#include <memory>
#include <type_traits>

#include <fulgurite/discrete_distributions.h>
#include <fulgurite/distribution.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::distributions {

/// A shared distribution of any type, for those that are made of others.
using AnyDistribution = std::shared_ptr<const Distribution>;

/// Vectors of positive numbers that sum to 1; weights in the last dimension. Draws as of Gamma.
class Dirichlet : public Distribution {
 public:
  explicit Dirichlet(const Tensor& concentration, SourceLocation at = SourceLocation::here());
  const Tensor& concentration() const { return concentration_; }
  bool has_rsample() const override { return true; }
  Tensor log_prob(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;
  Tensor mean(SourceLocation at = SourceLocation::here()) const override;
  Tensor variance(SourceLocation at = SourceLocation::here()) const override;
  Tensor entropy(SourceLocation at = SourceLocation::here()) const override;

 protected:
  Tensor draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const override;

 private:
  Tensor concentration_;
};

/// Normal vectors of a mean [..., n] and a covariance matrix [..., n, n].
class MultivariateNormal : public Distribution {
 public:
  /// UserError unless the matrices are positive definite.
  MultivariateNormal(const Tensor& loc, const Tensor& covariance_matrix, SourceLocation at = SourceLocation::here());
  /// The same from a lower triangular matrix L whose product with its transpose is the covariance.
  static MultivariateNormal from_scale_tril(const Tensor& loc, const Tensor& scale_tril,
                                            SourceLocation at = SourceLocation::here());
  const Tensor& loc() const { return loc_; }
  const Tensor& scale_tril() const { return scale_tril_; }
  Tensor covariance_matrix(SourceLocation at = SourceLocation::here()) const;
  bool has_rsample() const override { return true; }
  Tensor log_prob(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;
  Tensor mean(SourceLocation = SourceLocation::here()) const override { return loc_; }
  Tensor variance(SourceLocation at = SourceLocation::here()) const override;
  Tensor entropy(SourceLocation at = SourceLocation::here()) const override;

 protected:
  Tensor draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const override;

 private:
  struct Factored {
    Tensor loc, scale_tril;
  };
  explicit MultivariateNormal(Factored parts);
  Tensor loc_, scale_tril_;
};

/// Another distribution whose last batch dimensions are dimensions of one event: their log_prob() is summed.
class Independent : public Distribution {
 public:
  /// UserError if the base has fewer batch dimensions.
  Independent(AnyDistribution base, int64_t dimensions, SourceLocation at = SourceLocation::here());
  template <std::derived_from<Distribution> Base>
  Independent(const Base& base, int64_t dimensions, SourceLocation at = SourceLocation::here())
      : Independent(std::make_shared<const Base>(base), dimensions, at) {}
  const Distribution& base() const { return *base_; }
  int64_t dimensions() const { return dimensions_; }
  bool has_rsample() const override { return base_->has_rsample(); }
  Tensor log_prob(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;
  Tensor mean(SourceLocation at = SourceLocation::here()) const override { return base_->mean(at); }
  Tensor variance(SourceLocation at = SourceLocation::here()) const override { return base_->variance(at); }
  Tensor entropy(SourceLocation at = SourceLocation::here()) const override;

 protected:
  Tensor draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const override;

 private:
  AnyDistribution base_;
  int64_t dimensions_;
};

/// A mixture: a component is drawn by a Categorical, and a sample from it. The components are the last batch dimension.
class MixtureSameFamily : public Distribution {
 public:
  /// UserError unless the components have as many distributions in the last batch dimension as the mixture has classes.
  MixtureSameFamily(Categorical mixture, AnyDistribution components, SourceLocation at = SourceLocation::here());
  template <std::derived_from<Distribution> Components>
  MixtureSameFamily(const Categorical& mixture, const Components& components,
                    SourceLocation at = SourceLocation::here())
      : MixtureSameFamily(mixture, std::make_shared<const Components>(components), at) {}
  const Categorical& mixture() const { return mixture_; }
  const Distribution& components() const { return *components_; }
  Tensor log_prob(const Tensor& value, SourceLocation at = SourceLocation::here()) const override;
  Tensor mean(SourceLocation at = SourceLocation::here()) const override;
  Tensor variance(SourceLocation at = SourceLocation::here()) const override;

 protected:
  Tensor draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const override;

 private:
  Tensor weights(SourceLocation at) const;
  Categorical mixture_;
  AnyDistribution components_;
};

/// The Kullback-Leibler divergence of q from p, in nats, of the batch shape: the mean of p.log_prob - q.log_prob over
/// draws from p. Throws UserError for pairs without a formula: it is there for pairs of one type among Normal,
/// LogNormal, Exponential, Laplace, Gamma, Beta, Bernoulli, Geometric, Poisson, Categorical, OneHotCategorical,
/// Dirichlet, MultivariateNormal and Independent, and of Uniform with Uniform and Normal.
/// (torch.distributions.kl_divergence)
Tensor kl_divergence(const Distribution& p, const Distribution& q, SourceLocation at = SourceLocation::here());

}  // namespace fulgurite::distributions
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
