#include <fulgurite/normalization_layers.h>

#include <cmath>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>
#include <fulgurite/random.h>

#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::nn {

namespace {

Tensor constant(int64_t count, double value, std::optional<Dtype> dtype, bool requires_grad, SourceLocation at) {
  return full({count}, value, {.dtype = dtype.value_or(default_dtype()), .requires_grad = requires_grad}, at);
}

}  // namespace

GroupNorm::GroupNorm(int64_t groups, int64_t channels, const GroupNormOptions& options, SourceLocation at)
    : num_groups(groups), eps(options.eps) {
  if (groups < 1 || channels % groups != 0)
    throw UserError(text::cat("GroupNorm: num_channels = ", channels, " is not a multiple of num_groups = ", groups),
                    at);
  if (!options.affine) return;
  weight = constant(channels, 1, options.dtype, true, at);
  bias = constant(channels, 0, options.dtype, true, at);
}
Tensor GroupNorm::operator()(const Tensor& x, SourceLocation at) const {
  return group_norm(x, num_groups, weight, bias, eps, at);
}

template <int dims>
InstanceNorm<dims>::InstanceNorm(int64_t features, const InstanceNormOptions& options, SourceLocation at)
    : num_features(features), eps(options.eps), momentum(options.momentum) {
  if (options.affine) {
    weight = constant(features, 1, options.dtype, true, at);
    bias = constant(features, 0, options.dtype, true, at);
  }
  if (options.track_running_stats) {
    running_mean = constant(features, 0, options.dtype, false, at);
    running_var = constant(features, 1, options.dtype, false, at);
  }
}
template <int dims>
Tensor InstanceNorm<dims>::operator()(const Tensor& x, SourceLocation at) const {
  if (!x.defined()) throw UserError("InstanceNorm: the input is an undefined tensor", at);
  const bool is_batch = x.ndim() == dims + 2;
  if (!is_batch && x.ndim() != dims + 1)
    throw UserError(text::cat("InstanceNorm", dims, "d: the input has ", dims + 1, " or ", dims + 2,
                              " dimensions, not ", type_text(x)),
                    at);
  const Tensor batch = is_batch ? x : unsqueeze(x, 0, at);
  const bool uses_input = training || !running_mean.defined();
  const Tensor y = instance_norm(batch, running_mean, running_var, weight, bias, uses_input, momentum, eps, at);
  return is_batch ? y : squeeze(y, 0, at);
}
template struct InstanceNorm<1>;
template struct InstanceNorm<2>;
template struct InstanceNorm<3>;

Tensor LocalResponseNorm::operator()(const Tensor& x, SourceLocation at) const {
  return local_response_norm(x, size, alpha, beta, k, at);
}

Bilinear::Bilinear(int64_t in1, int64_t in2, int64_t out, const BilinearOptions& options, SourceLocation at) {
  const double bound = in1 > 0 ? 1 / std::sqrt(static_cast<double>(in1)) : 0;
  const Dtype dtype = options.dtype.value_or(default_dtype());
  const auto drawn = [&](const Dims& sizes) {
    const Tensor parameter = empty(sizes, {.dtype = dtype}, at);
    fulgurite::uniform_(parameter, -bound, bound, {}, at);
    return parameter.requires_grad_();
  };
  weight = drawn({out, in1, in2});
  if (options.bias) bias = drawn({out});
}
Tensor Bilinear::operator()(const Tensor& x1, const Tensor& x2, SourceLocation at) const {
  return bilinear(x1, x2, weight, bias, at);
}

}  // namespace fulgurite::nn
