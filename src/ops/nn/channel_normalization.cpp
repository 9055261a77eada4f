// Normalizations of channels, which are dimension 1.
#include <tuple>

#include <fulgurite/autograd.h>
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/core/precision.h"
#include "ops/generated/symbols.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {
namespace {

Tensor wide(const Tensor& x, SourceLocation at) { return as_dtype(x, compute_dtype(x.dtype()), at); }

/// A parameter with one number per channel, shaped to broadcast with x.
Tensor by_channel(const Tensor& parameter, const Tensor& x, const char* what, SourceLocation at) {
  const Int channels = x.size(1);
  require(parameter.ndim() == 1 && parameter.size(0) == channels, what, " has shape ", parameter.shape(),
          ", there are ", channels.hint(), " channels");
  Shape shape;
  shape.resize(x.ndim(), 1);
  shape[1] = channels;
  const Tensor numbers = wide(parameter, at);
  return reshape(numbers, shape, at);
}

/// Running statistics are not parameters: they get no gradient.
Tensor statistic(const Tensor& given, SourceLocation at) { return given.requires_grad() ? detach(given, at) : given; }

/// (x - mean) / sqrt(variance + eps).
Tensor standardized(const Tensor& x, const Tensor& mean, const Tensor& variance, Float eps, SourceLocation at) {
  const Tensor centered = sub(x, mean, 1, at);
  const Tensor raised = add(variance, eps, 1, at);
  const Tensor scale = rsqrt(raised, at);
  return mul(centered, scale, at);
}

Tensor scaled_and_shifted(Tensor y, const Argument& weight, const Argument& bias, SourceLocation at) {
  if (weight.tensor_or_none().defined()) {
    const Tensor factor = by_channel(weight.tensor(), y, "weight", at);
    y = mul(y, factor, at);
  }
  if (bias.tensor_or_none().defined()) {
    const Tensor shift = by_channel(bias.tensor(), y, "bias", at);
    y = add(y, shift, 1, at);
  }
  return y;
}

/// weight / sqrt(variance + eps), one number per channel.
Tensor channel_scale(const Tensor& x, const Tensor& variance, Float eps, const Argument& weight, SourceLocation at) {
  const Tensor raised = add(variance, eps, 1, at);
  Tensor scale = rsqrt(raised, at);
  if (!weight.tensor_or_none().defined()) return scale;
  const Tensor factor = by_channel(weight.tensor(), x, "weight", at);
  return mul(scale, factor, at);
}

/// bias - offset, or -offset; one number per channel.
Tensor channel_shift(const Tensor& x, const Tensor& offset, const Argument& bias, SourceLocation at) {
  if (!bias.tensor_or_none().defined()) return neg(offset, at);
  const Tensor given = by_channel(bias.tensor(), x, "bias", at);
  return sub(given, offset, 1, at);
}

/// Normalizes by x's own statistics, then scales and shifts. The mean subtracted from x is a constant; its gradient is
/// that of (mean - constant) in the shift, which is zero and has one number per channel: no reduction over x is needed.
Tensor by_statistics_of_x(const Tensor& x, const Tensor& mean, const Tensor& variance, Float eps,
                          const Argument& weight, const Argument& bias, SourceLocation at) {
  const Tensor scale = channel_scale(x, variance, eps, weight, at);
  const Tensor center = detach(mean, at);
  const Tensor zero = sub(mean, center, 1, at);
  const Tensor offset = mul(zero, scale, at);
  const Tensor shift = channel_shift(x, offset, bias, at);
  const Tensor centered = sub(x, center, 1, at);
  const Tensor scaled = mul(centered, scale, at);
  return add(scaled, shift, 1, at);
}

/// Normalizes by given statistics: one multiplier and one addend per channel.
Tensor by_running_statistics(const Tensor& x, const Argument& running_mean, const Argument& running_var, Float eps,
                             const Argument& weight, const Argument& bias, SourceLocation at) {
  const Tensor average = by_channel(statistic(running_mean.tensor(), at), x, "running_mean", at);
  const Tensor variance = by_channel(statistic(running_var.tensor(), at), x, "running_var", at);
  const Tensor scale = channel_scale(x, variance, eps, weight, at);
  const Tensor offset = mul(average, scale, at);
  const Tensor shift = channel_shift(x, offset, bias, at);
  const Tensor scaled = mul(x, scale, at);
  return add(scaled, shift, 1, at);
}

void check_channels(const Tensor& x, int64_t least) {
  require(is_floating(x.dtype()), "needs a floating dtype, not ", x.dtype());
  require(x.ndim() >= least, "needs at least ", least, " dimensions, got ", x.ndim());
}

/// The result for an input without elements; weight and bias get gradients of zeros.
Tensor of_no_elements(const Tensor& x, const Argument& weight, const Argument& bias, SourceLocation at) {
  Tensor y = clone(x, at);
  if (weight.tensor_or_none().defined()) {
    const Tensor factor = by_channel(weight.tensor(), x, "weight", at);
    y = mul(y, factor, at);
  }
  if (bias.tensor_or_none().defined()) {
    const Tensor shift = by_channel(bias.tensor(), x, "bias", at);
    y = add(y, shift, 1, at);
  }
  return y;
}

/// running = (1 - momentum) * running + momentum * observed, in place.
void advance(const Tensor& running, const Tensor& observed, Float momentum, SourceLocation at) {
  const NoGrad no_grad;
  const Tensor detached = detach(observed, at);
  const Tensor flat = reshape(detached, running.shape(), at);
  const Tensor kept = mul(running, 1.0 - momentum, at);
  const Tensor added = mul(flat, momentum, at);
  const Tensor next = add(kept, added, 1, at);
  const Tensor rounded = as_dtype(next, running.dtype(), at);
  prims::copy_(rounded, running, at);
}

/// The statistics over `dims`; the running ones, if given, are updated.
std::tuple<Tensor, Tensor> observed(const Tensor& x, const Dims& dims, const Argument& running_mean,
                                    const Argument& running_var, Float momentum, Int count, SourceLocation at) {
  const auto [variance, average] = var_mean(x, dims, 0, true, at);
  if (running_mean.tensor_or_none().defined()) advance(running_mean.tensor(), average, momentum, at);
  if (running_var.tensor_or_none().defined()) {
    const Float unbiased = Float(count) / (Float(count) - 1.0);
    const Tensor corrected = mul(variance, unbiased, at);
    advance(running_var.tensor(), corrected, momentum, at);
  }
  return {variance, average};
}

}  // namespace

constinit const Symbol batch_norm_symbol{
    .signature =
        "torch.nn.functional.batch_norm(Tensor input, Tensor? running_mean, Tensor? running_var, Tensor? "
        "weight=None, Tensor? bias=None, bool training=False, float momentum=0.1, float eps=1e-05) -> Tensor",
    .documentation =
        "Brings each channel to mean 0 and variance 1, over the batch in training (advancing the running statistics "
        "in place), else by the running statistics; then applies weight and bias.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& given = a[0].tensor();
          const bool training = a[5].boolean();
          check_channels(given, 1);
          if (given.ndim() == 1) {
            require(given.numel() == 0, "needs at least 2 dimensions, got 1");
            return out.push_back(clone(given, at));
          }
          const Tensor x = wide(given, at);
          Tensor y;
          if (training) {
            Dims dims(0);
            Int count = x.size(0);
            for (int64_t d = 2; d < x.ndim(); ++d) {
              dims.push_back(d);
              count = count * x.size(static_cast<int>(d));
            }
            const bool has_statistics = count > 1;
            require(has_statistics || count == 0,
                    "training needs more than one value for each channel, got an input of shape ", given.shape());
            if (has_statistics) {
              const auto [variance, average] = observed(x, dims, a[1], a[2], a[6].floating(), count, at);
              y = by_statistics_of_x(x, average, variance, a[7].floating(), a[3], a[4], at);
            } else {  // the running statistics are unchanged
              y = of_no_elements(x, a[3], a[4], at);
            }
          } else {
            require(a[1].tensor_or_none().defined() && a[2].tensor_or_none().defined(),
                    "running_mean and running_var are needed outside training");
            y = by_running_statistics(x, a[1], a[2], a[7].floating(), a[3], a[4], at);
          }
          out.push_back(as_dtype(y, given.dtype(), at));
        },
};

constinit const Symbol instance_norm_symbol{
    .signature =
        "torch.nn.functional.instance_norm(Tensor input, Tensor? running_mean=None, Tensor? running_var=None, "
        "Tensor? weight=None, Tensor? bias=None, bool use_input_stats=True, float momentum=0.1, float eps=1e-05) -> "
        "Tensor",
    .documentation =
        "batch_norm of each sample of the batch by itself; running statistics advance by the samples' mean.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& given = a[0].tensor();
          check_channels(given, 3);
          const Tensor x = wide(given, at);
          Tensor y;
          if (a[5].boolean()) {
            Dims dims;
            Int count = 1;
            for (int64_t d = 2; d < x.ndim(); ++d) {
              dims.push_back(d);
              count = count * x.size(static_cast<int>(d));
            }
            require(count > 1, "needs more than one value for each channel of a sample, got an input of shape ",
                    given.shape());
            const auto [variance, average] = var_mean(x, dims, 0, true, at);
            y = by_statistics_of_x(x, average, variance, a[7].floating(), a[3], a[4], at);
            if (a[1].tensor_or_none().defined()) {
              const Tensor batch_mean = mean(average, Dims(0), true, {}, at);
              advance(a[1].tensor(), batch_mean, a[6].floating(), at);
            }
            if (a[2].tensor_or_none().defined()) {
              const Tensor batch_variance = mean(variance, Dims(0), true, {}, at);
              const Tensor corrected = mul(batch_variance, Float(count) / (Float(count) - 1.0), at);
              advance(a[2].tensor(), corrected, a[6].floating(), at);
            }
          } else {
            require(a[1].tensor_or_none().defined() && a[2].tensor_or_none().defined(),
                    "running_mean and running_var are needed where use_input_stats is false");
            y = by_running_statistics(x, a[1], a[2], a[7].floating(), a[3], a[4], at);
          }
          out.push_back(as_dtype(y, given.dtype(), at));
        },
};

constinit const Symbol group_norm_symbol{
    .signature =
        "torch.nn.functional.group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float "
        "eps=1e-05) -> Tensor",
    .documentation =
        "Brings each group of channels of each sample to mean 0 and variance 1, then applies weight and bias by "
        "channel.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& given = a[0].tensor();
          check_channels(given, 2);
          const Int groups = a[1].integer(), channels = given.size(1);
          require(groups > 0, "num_groups must be positive, not ", groups.hint());
          require(channels % groups == 0, "the ", channels.hint(),
                  " channels are not a multiple of num_groups = ", groups.hint());
          Int inside = channels / groups;
          for (int64_t d = 2; d < given.ndim(); ++d) inside = inside * given.size(static_cast<int>(d));
          const Tensor x = wide(given, at);
          const Tensor grouped = reshape(x, {given.size(0), groups, inside}, at);
          const auto [variance, average] = var_mean(grouped, Dims(2), 0, true, at);
          const Tensor normal = standardized(grouped, average, variance, a[4].floating(), at);
          const Tensor y = reshape(normal, given.shape(), at);
          const Tensor result = scaled_and_shifted(y, a[2], a[3], at);
          out.push_back(as_dtype(result, given.dtype(), at));
        },
};

SymbolList channel_normalization_symbols() {
  static constexpr const Symbol* list[] = {&batch_norm_symbol, &instance_norm_symbol, &group_norm_symbol};
  return list;
}

}  // namespace fulgurite
