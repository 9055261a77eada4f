#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>

#include <fulgurite/detail/given.h>
#include <fulgurite/fields.h>
#include <fulgurite/nn.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace nn {

// Layers whose weight is computed from other parameters at each call, with the names of
// torch.nn.utils.parametrizations: "parametrizations.weight.original0".

namespace parametrization_detail {
/// The norms of the slices along `dim`, with sizes 1 elsewhere.
Tensor norm_except(const Tensor& v, int64_t dim, SourceLocation at);
Tensor weight_of(const Tensor& magnitude, const Tensor& direction, int64_t dim, SourceLocation at);
/// Negative dims count from the end, but -1 means all dimensions where `allows_all`.
int64_t checked_dim(const Tensor& weight, int64_t dim, bool allows_all, std::string_view function, SourceLocation at);
Tensor as_parameter(const Tensor& value);
/// Random unit vectors, after 15 steps of power iteration. Undefined for a weight of one dimension.
std::pair<Tensor, Tensor> first_vectors(const Tensor& weight, int64_t dim, double eps, SourceLocation at);
/// The weight divided by its largest singular value; while training, the vectors move first.
Tensor divided_by_norm(const Tensor& weight, const Tensor& u, const Tensor& v, int64_t dim, int64_t iterations,
                       double eps, bool training, SourceLocation at);
template <class Layer>
Tensor call(Layer layer, Tensor weight, const Tensor& x, SourceLocation at) {
  layer.weight = std::move(weight);
  return layer(x, at);
}
}  // namespace parametrization_detail

/// Options of WeightNorm.
struct WeightNormOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  int64_t dim = 0;  // the slices of this dimension have a magnitude each; -1: one magnitude for all
};
/// A layer whose weight is a magnitude times a direction: `nn::WeightNorm conv(nn::Conv2d(3, 8, 3))`
/// (torch.nn.utils.parametrizations.weight_norm).
template <class Layer>
struct WeightNorm {
  Layer layer;  // without weight
  Tensor magnitude, direction;
  int64_t dim = 0;
  WeightNorm() = default;
  explicit WeightNorm(Layer of, const WeightNormOptions& options = {}, SourceLocation at = SourceLocation::here())
      : layer(std::move(of)) {
    dim = parametrization_detail::checked_dim(layer.weight, options.dim, true, "WeightNorm", at);
    direction = parametrization_detail::as_parameter(layer.weight);
    magnitude = parametrization_detail::as_parameter(parametrization_detail::norm_except(layer.weight, dim, at));
    layer.weight = Tensor();
  }
  /// The weight that the layer computes with.
  Tensor weight(SourceLocation at = SourceLocation::here()) const {
    return parametrization_detail::weight_of(magnitude, direction, dim, at);
  }
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const {
    return parametrization_detail::call(layer, weight(at), x, at);
  }
};

/// Options of SpectralNorm; members are given in this order.
struct SpectralNormOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  int64_t n_power_iterations = 1;
  double eps = 1e-12;
  int64_t dim = 0;  // rows of the matrix; ConvTranspose layers have them in dimension 1
};
/// A layer whose weight is divided by an estimate of its largest singular value, which each call while training
/// improves (torch.nn.utils.parametrizations.spectral_norm).
template <class Layer>
struct SpectralNorm {
  Layer layer;  // without weight
  Tensor original, u, v;
  int64_t dim = 0, n_power_iterations = 1;
  double eps = 1e-12;
  bool training = true;
  SpectralNorm() = default;
  explicit SpectralNorm(Layer of, const SpectralNormOptions& options = {}, SourceLocation at = SourceLocation::here())
      : layer(std::move(of)), n_power_iterations(options.n_power_iterations), eps(options.eps) {
    dim = parametrization_detail::checked_dim(layer.weight, options.dim, false, "SpectralNorm", at);
    original = parametrization_detail::as_parameter(layer.weight);
    std::tie(u, v) = parametrization_detail::first_vectors(original, dim, eps, at);
    layer.weight = Tensor();
  }
  Tensor weight(SourceLocation at = SourceLocation::here()) const {
    return parametrization_detail::divided_by_norm(original, u, v, dim, n_power_iterations, eps, training, at);
  }
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const {
    return parametrization_detail::call(layer, weight(at), x, at);
  }
};

}  // namespace nn

template <class Layer>
struct Fields<nn::WeightNorm<Layer>> {
  static constexpr bool is_erased = true;
  template <class Object, class Visitor>
  static void walk(Object& object, Visitor& visitor) {
    detail::walk(object.layer, visitor);
    const auto member = [&visitor](std::string_view name, auto& part) {
      const detail::Part<Visitor> named(visitor, name);
      detail::walk(part, visitor);
    };
    member("parametrizations.weight.original0", object.magnitude);
    member("parametrizations.weight.original1", object.direction);
    member("dim", object.dim);
  }
};
template <class Layer>
struct Fields<nn::SpectralNorm<Layer>> {
  static constexpr bool is_erased = true;
  template <class Object, class Visitor>
  static void walk(Object& object, Visitor& visitor) {
    if constexpr (requires { visitor.node(object); }) visitor.node(object);
    detail::walk(object.layer, visitor);
    const auto member = [&visitor](std::string_view name, auto& part) {
      const detail::Part<Visitor> named(visitor, name);
      detail::walk(part, visitor);
    };
    member("parametrizations.weight.original", object.original);
    member("parametrizations.weight.0._u", object.u);
    member("parametrizations.weight.0._v", object.v);
    member("dim", object.dim);
    member("n_power_iterations", object.n_power_iterations);
    member("eps", object.eps);
    member("training", object.training);
  }
};

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
