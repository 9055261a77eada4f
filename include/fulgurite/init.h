#pragma once
#include <fulgurite/detail/requirements.h>

#include <optional>
#include <string_view>

#include <fulgurite/detail/given.h>
#include <fulgurite/generator.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
/// Initial values of parameters (torch.nn.init): each writes into the tensor, without a gradient, and returns it. A fan
/// is the number of inputs ("fan_in") or results ("fan_out") of each element of a layer with this weight.
namespace fulgurite::nn::init {

/// A generator, or the one that manual_seed() seeds.
using MaybeGenerator = std::optional<Generator>;

/// Numbers of these distributions.
Tensor uniform_(const Tensor& tensor, double a = 0, double b = 1, const MaybeGenerator& generator = {},
                SourceLocation at = SourceLocation::here());
Tensor normal_(const Tensor& tensor, double mean = 0, double std = 1, const MaybeGenerator& generator = {},
               SourceLocation at = SourceLocation::here());
/// Normal numbers between a and b.
Tensor trunc_normal_(const Tensor& tensor, double mean = 0, double std = 1, double a = -2, double b = 2,
                     const MaybeGenerator& generator = {}, SourceLocation at = SourceLocation::here());
/// One number everywhere.
Tensor constant_(const Tensor& tensor, double value, SourceLocation at = SourceLocation::here());
Tensor ones_(const Tensor& tensor, SourceLocation at = SourceLocation::here());
Tensor zeros_(const Tensor& tensor, SourceLocation at = SourceLocation::here());
/// The identity, for matrices.
Tensor eye_(const Tensor& tensor, SourceLocation at = SourceLocation::here());
/// The identity of a convolution's channels, for weights of 3 to 5 dimensions.
Tensor dirac_(const Tensor& tensor, int64_t groups = 1, SourceLocation at = SourceLocation::here());
/// Glorot and Bengio's values, from the mean of both fans.
Tensor xavier_uniform_(const Tensor& tensor, double gain = 1, const MaybeGenerator& generator = {},
                       SourceLocation at = SourceLocation::here());
Tensor xavier_normal_(const Tensor& tensor, double gain = 1, const MaybeGenerator& generator = {},
                      SourceLocation at = SourceLocation::here());
/// He's values, from one fan and a nonlinearity; `a` is the slope of leaky_relu.
Tensor kaiming_uniform_(const Tensor& tensor, double a = 0, std::string_view mode = "fan_in",
                        std::string_view nonlinearity = "leaky_relu", const MaybeGenerator& generator = {},
                        SourceLocation at = SourceLocation::here());
Tensor kaiming_normal_(const Tensor& tensor, double a = 0, std::string_view mode = "fan_in",
                       std::string_view nonlinearity = "leaky_relu", const MaybeGenerator& generator = {},
                       SourceLocation at = SourceLocation::here());
/// Options of kaiming_uniform_ and kaiming_normal_; members are given in this order.
struct KaimingOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  double a = 0;
  std::string_view mode = "fan_in";
  std::string_view nonlinearity = "leaky_relu";
  MaybeGenerator generator = {};
};
template <int = 0>
Tensor kaiming_uniform_(const Tensor& tensor, const KaimingOptions& options,
                        SourceLocation at = SourceLocation::here()) {
  return kaiming_uniform_(tensor, options.a, options.mode, options.nonlinearity, options.generator, at);
}
template <int = 0>
Tensor kaiming_normal_(const Tensor& tensor, const KaimingOptions& options,
                       SourceLocation at = SourceLocation::here()) {
  return kaiming_normal_(tensor, options.a, options.mode, options.nonlinearity, options.generator, at);
}
/// Rows or columns of length 1 at right angles, times gain; the dimensions after the first count as one.
Tensor orthogonal_(const Tensor& tensor, double gain = 1, const MaybeGenerator& generator = {},
                   SourceLocation at = SourceLocation::here());
/// Normal numbers with a part of each column set to zero, for matrices.
Tensor sparse_(const Tensor& tensor, double sparsity, double std = 0.01, const MaybeGenerator& generator = {},
               SourceLocation at = SourceLocation::here());
/// The factor by which a nonlinearity's inputs should be larger; throws UserError for an unknown one.
double calculate_gain(std::string_view nonlinearity, double parameter = 0.01,
                      SourceLocation at = SourceLocation::here());

}  // namespace fulgurite::nn::init
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
