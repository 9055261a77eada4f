#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <optional>

#include <fulgurite/activation_layers.h>
#include <fulgurite/detail/given.h>
#include <fulgurite/dtype.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::nn {

/// Options of GroupNorm; members are given in this order.
struct GroupNormOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  double eps = 1e-5;
  bool affine = true;
  std::optional<Dtype> dtype = {};
};
/// Normalizes groups of channels of [N, C, …]. Throws UserError unless the groups divide the channels.
struct GroupNorm {
  Tensor weight, bias;  // [channels], or undefined
  int64_t num_groups = 1;
  double eps = 1e-5;
  GroupNorm() = default;
  GroupNorm(int64_t num_groups, int64_t num_channels, const GroupNormOptions& options = {},
            SourceLocation at = SourceLocation::here());
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("weight", layer.weight);
    member("bias", layer.bias);
    member("num_groups", layer.num_groups);
    member("eps", layer.eps);
  }
};

/// Options of InstanceNorm; members are given in this order.
struct InstanceNormOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  double eps = 1e-5;
  double momentum = 0.1;
  bool affine = false;
  bool track_running_stats = false;
  std::optional<Dtype> dtype = {};
};
/// Normalizes each channel of each sample of [N, C, …].
template <int dims>
struct InstanceNorm {
  Tensor weight, bias, running_mean, running_var;  // [channels], or undefined
  int64_t num_features = 0;
  double eps = 1e-5, momentum = 0.1;
  bool training = true;
  InstanceNorm() = default;
  explicit InstanceNorm(int64_t num_features, const InstanceNormOptions& options = {},
                        SourceLocation at = SourceLocation::here());
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("weight", layer.weight);
    member("bias", layer.bias);
    member("running_mean", layer.running_mean);
    member("running_var", layer.running_var);
    member("num_features", layer.num_features);
    member("eps", layer.eps);
    member("momentum", layer.momentum);
    member("training", layer.training);
  }
};
using InstanceNorm1d = InstanceNorm<1>;
using InstanceNorm2d = InstanceNorm<2>;
using InstanceNorm3d = InstanceNorm<3>;
extern template struct InstanceNorm<1>;
extern template struct InstanceNorm<2>;
extern template struct InstanceNorm<3>;

/// Options of LocalResponseNorm; members are given in this order.
struct LocalResponseNormOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  double alpha = 1e-4;
  double beta = 0.75;
  double k = 1;
};
/// Divides by the squares of neighbouring channels.
struct LocalResponseNorm {
  int64_t size = 1;
  double alpha = 1e-4, beta = 0.75, k = 1;
  LocalResponseNorm() = default;
  explicit LocalResponseNorm(int64_t size, const LocalResponseNormOptions& options = {})
      : size(size), alpha(options.alpha), beta(options.beta), k(options.k) {}
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("size", layer.size);
    member("alpha", layer.alpha);
    member("beta", layer.beta);
    member("k", layer.k);
  }
};

/// Options of Bilinear; members are given in this order.
struct BilinearOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  bool bias = true;
  std::optional<Dtype> dtype = {};
};
/// x1 weight x2 + bias, for each feature of the result.
struct Bilinear {
  Tensor weight, bias;  // [out, in1, in2]; [out] or undefined
  Bilinear() = default;
  Bilinear(int64_t in1_features, int64_t in2_features, int64_t out_features, const BilinearOptions& options = {},
           SourceLocation at = SourceLocation::here());
  Tensor operator()(const Tensor& x1, const Tensor& x2, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("weight", layer.weight);
    member("bias", layer.bias);
  }
};

}  // namespace fulgurite::nn
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
