#include <cmath>

#include <fulgurite/autograd.h>
#include <fulgurite/error.h>
#include <fulgurite/nn.h>

#include "support/text/text.h"

namespace fulgurite::nn {

namespace {

Dims dims_of(const WindowSizes& sizes) { return Dims(Shape(sizes)); }

WindowSizes sizes_of(const Dims& dims, int count, const char* name, SourceLocation at) {
  if (!dims.empty() && dims.size() != 1 && dims.size() != static_cast<size_t>(count))
    throw UserError(text::cat(name, " must have 1 or ", count, " numbers, got ", Shape(dims)), at);
  return dims.to_vector();
}

template <class Options>
TensorOptions tensor_options(const Options& options) {
  return {.dtype = options.dtype, .device = options.device};
}

Tensor parameter(const Shape& shape, double bound, TensorOptions options, SourceLocation at) {
  options.requires_grad = false;
  const Tensor drawn = empty(Dims(shape), options, at);
  uniform_(drawn, -bound, bound, at);
  return drawn.requires_grad_();
}

/// Initializes a convolution's weight [rows, columns, kernel…] and its bias as PyTorch's layers do: uniformly within 1
/// / √(columns * kernel).
template <class Layer>
void draw(Layer& layer, int count, int64_t rows, int64_t columns, const Dims& kernel_size, int64_t biases,
          const TensorOptions& options, SourceLocation at) {
  const WindowSizes kernel = sizes_of(kernel_size, count, "kernel_size", at);
  Shape shape{rows, columns};
  for (int d = 0; d < count; ++d) shape.push_back(kernel.at(kernel.size() == 1 ? 0 : static_cast<size_t>(d)));
  const int64_t elements = Shape(shape.data() + 1, shape.size() - 1).numel();
  const double bound = elements > 0 ? 1 / std::sqrt(static_cast<double>(elements)) : 0;
  layer.weight = parameter(shape, bound, options, at);
  if (biases > 0) layer.bias = parameter({biases}, bound, options, at);
}

int64_t divided(int64_t channels, int64_t groups, const char* name, SourceLocation at) {
  if (groups <= 0 || channels % groups != 0)
    throw UserError(text::cat(name, " = ", channels, " is not a multiple of groups = ", groups), at);
  return channels / groups;
}

/// Widths for nn::pad: a convolution's padding before and after each dimension, the last one first.
template <int count>
Dims widths(const Convolution<count>& layer) {
  Dims out;
  for (int d = count - 1; d >= 0; --d) {
    const auto number = [&](const WindowSizes& sizes) { return sizes[sizes.size() == 1 ? 0 : static_cast<size_t>(d)]; };
    if (layer.padding_name == "same") {
      const int64_t total = number(layer.dilation) * (layer.weight.size(d + 2) - 1);
      out.push_back(total / 2);
      out.push_back(total - total / 2);
    } else {
      const int64_t both = layer.padding_name.empty() ? number(layer.padding) : 0;
      out.push_back(both);
      out.push_back(both);
    }
  }
  return out;
}

template <int count, class... Arguments>
Tensor convolve(const Tensor& x, const Arguments&... arguments) {
  if constexpr (count == 1) return conv1d(x, arguments...);
  else if constexpr (count == 2) return conv2d(x, arguments...);
  else return conv3d(x, arguments...);
}

}  // namespace

template <int count>
Convolution<count>::Convolution(int64_t in_channels, int64_t out_channels, const Dims& kernel_size,
                                const ConvOptions& options, SourceLocation at)
    : Convolution(in_channels, out_channels, kernel_size, options.stride, options.padding, options.dilation,
                  options.groups, options.bias, options.padding_mode, tensor_options(options), at) {}

template <int count>
Convolution<count>::Convolution(int64_t in_channels, int64_t out_channels, const Dims& kernel_size,
                                const detail::Given<Dims>& strides, const Padding& paddings, const Dims& dilations,
                                int64_t group_count, bool has_bias, std::string_view mode, const TensorOptions& options,
                                SourceLocation at)
    : padding_name(paddings.name()), padding_mode(mode) {
  this->stride = sizes_of(static_cast<const Dims&>(strides), count, "stride", at);
  this->padding = padding_name.empty() ? sizes_of(paddings.sizes(), count, "padding", at) : WindowSizes{0};
  this->dilation = sizes_of(dilations, count, "dilation", at);
  this->groups = group_count;
  divided(out_channels, group_count, "out_channels", at);
  if (!padding_name.empty() && padding_name != "same" && padding_name != "valid")
    throw UserError(text::cat("padding must be numbers, \"same\" or \"valid\", not \"", padding_name, "\""), at);
  if (padding_mode != "zeros" && padding_mode != "reflect" && padding_mode != "replicate" && padding_mode != "circular")
    throw UserError(text::cat("padding_mode must be \"zeros\", \"reflect\", \"replicate\" or \"circular\", not \"",
                              padding_mode, "\""),
                    at);
  draw(*this, count, out_channels, divided(in_channels, group_count, "in_channels", at), kernel_size,
       has_bias ? out_channels : 0, options, at);
}

template <int count>
Tensor Convolution<count>::operator()(const Tensor& x, SourceLocation at) const {
  const Dims strides = dims_of(this->stride), dilations = dims_of(this->dilation);
  if (padding_mode != "zeros") {
    const Tensor padded = pad(x, widths(*this), padding_mode, {}, at);
    return convolve<count>(padded, this->weight, this->bias, strides, Padding(0), dilations, Int(this->groups), at);
  }
  const Padding paddings =
      padding_name.empty() ? Padding(dims_of(this->padding)) : Padding(std::string_view(padding_name));
  return convolve<count>(x, this->weight, this->bias, strides, paddings, dilations, Int(this->groups), at);
}

template <int count>
TransposedConvolution<count>::TransposedConvolution(int64_t in_channels, int64_t out_channels, const Dims& kernel_size,
                                                    const ConvTransposeOptions& options, SourceLocation at)
    : TransposedConvolution(in_channels, out_channels, kernel_size, options.stride, options.padding,
                            options.output_padding, options.groups, options.bias, options.dilation,
                            tensor_options(options), at) {}

template <int count>
TransposedConvolution<count>::TransposedConvolution(int64_t in_channels, int64_t out_channels, const Dims& kernel_size,
                                                    const detail::Given<Dims>& strides, const Dims& paddings,
                                                    const Dims& output_paddings, int64_t group_count, bool has_bias,
                                                    const Dims& dilations, const TensorOptions& options,
                                                    SourceLocation at)
    : output_padding(sizes_of(output_paddings, count, "output_padding", at)) {
  this->stride = sizes_of(static_cast<const Dims&>(strides), count, "stride", at);
  this->padding = sizes_of(paddings, count, "padding", at);
  this->dilation = sizes_of(dilations, count, "dilation", at);
  this->groups = group_count;
  divided(in_channels, group_count, "in_channels", at);
  draw(*this, count, in_channels, divided(out_channels, group_count, "out_channels", at), kernel_size,
       has_bias ? out_channels : 0, options, at);
}

template <int count>
Tensor TransposedConvolution<count>::operator()(const Tensor& x, SourceLocation at) const {
  const Dims strides = dims_of(this->stride), paddings = dims_of(this->padding), dilations = dims_of(this->dilation);
  const Dims extra = dims_of(output_padding);
  if constexpr (count == 1)
    return conv_transpose1d(x, this->weight, this->bias, strides, paddings, extra, this->groups, dilations, at);
  else if constexpr (count == 2)
    return conv_transpose2d(x, this->weight, this->bias, strides, paddings, extra, this->groups, dilations, at);
  else return conv_transpose3d(x, this->weight, this->bias, strides, paddings, extra, this->groups, dilations, at);
}

template <int count>
MaxPool<count>::MaxPool(const Dims& kernel, const MaxPoolOptions& options)
    : MaxPool(kernel, options.stride, options.padding, options.dilation, options.ceil_mode) {}

template <int count>
MaxPool<count>::MaxPool(const Dims& kernel, const detail::Given<Dims>& strides)
    : MaxPool(kernel, static_cast<const Dims&>(strides), 0) {}

template <int count>
MaxPool<count>::MaxPool(const Dims& kernel, const Dims& strides, const Dims& paddings, const Dims& dilations, bool ceil)
    : kernel_size(kernel.to_vector()),
      stride(strides.to_vector()),
      padding(paddings.to_vector()),
      dilation(dilations.to_vector()),
      ceil_mode(ceil) {}

template <int count>
Tensor MaxPool<count>::operator()(const Tensor& x, SourceLocation at) const {
  const Dims kernel = dims_of(kernel_size), strides = dims_of(stride), paddings = dims_of(padding),
             dilations = dims_of(dilation);
  if constexpr (count == 1) return max_pool1d(x, kernel, strides, paddings, dilations, ceil_mode, at);
  else if constexpr (count == 2) return max_pool2d(x, kernel, strides, paddings, dilations, ceil_mode, at);
  else return max_pool3d(x, kernel, strides, paddings, dilations, ceil_mode, at);
}

template <int count>
std::tuple<Tensor, Tensor> MaxPool<count>::forward_with_indices(const Tensor& x, SourceLocation at) const {
  const Dims kernel = dims_of(kernel_size), strides = dims_of(stride), paddings = dims_of(padding),
             dilations = dims_of(dilation);
  if constexpr (count == 1) return max_pool1d_with_indices(x, kernel, strides, paddings, dilations, ceil_mode, at);
  else if constexpr (count == 2) return max_pool2d_with_indices(x, kernel, strides, paddings, dilations, ceil_mode, at);
  else return max_pool3d_with_indices(x, kernel, strides, paddings, dilations, ceil_mode, at);
}

template <int count>
AvgPool<count>::AvgPool(const Dims& kernel, const AvgPoolOptions& options)
    : AvgPool(kernel, options.stride, options.padding, options.ceil_mode, options.count_include_pad) {}

template <int count>
AvgPool<count>::AvgPool(const Dims& kernel, const detail::Given<Dims>& strides)
    : AvgPool(kernel, static_cast<const Dims&>(strides), 0) {}

template <int count>
AvgPool<count>::AvgPool(const Dims& kernel, const Dims& strides, const Dims& paddings, bool ceil, bool counts_padding)
    : kernel_size(kernel.to_vector()),
      stride(strides.to_vector()),
      padding(paddings.to_vector()),
      ceil_mode(ceil),
      count_include_pad(counts_padding) {}

template <int count>
Tensor AvgPool<count>::operator()(const Tensor& x, SourceLocation at) const {
  const Dims kernel = dims_of(kernel_size), strides = dims_of(stride), paddings = dims_of(padding);
  if constexpr (count == 1) return avg_pool1d(x, kernel, strides, paddings, ceil_mode, count_include_pad, at);
  else if constexpr (count == 2) return avg_pool2d(x, kernel, strides, paddings, ceil_mode, count_include_pad, {}, at);
  else return avg_pool3d(x, kernel, strides, paddings, ceil_mode, count_include_pad, {}, at);
}

template <int count>
AdaptiveAvgPool<count>::AdaptiveAvgPool(const Dims& sizes) : output_size(sizes.to_vector()) {}

template <int count>
Tensor AdaptiveAvgPool<count>::operator()(const Tensor& x, SourceLocation at) const {
  if constexpr (count == 1) return adaptive_avg_pool1d(x, dims_of(output_size), at);
  else if constexpr (count == 2) return adaptive_avg_pool2d(x, dims_of(output_size), at);
  else return adaptive_avg_pool3d(x, dims_of(output_size), at);
}

template <int count>
AdaptiveMaxPool<count>::AdaptiveMaxPool(const Dims& sizes) : output_size(sizes.to_vector()) {}

template <int count>
Tensor AdaptiveMaxPool<count>::operator()(const Tensor& x, SourceLocation at) const {
  if constexpr (count == 1) return adaptive_max_pool1d(x, dims_of(output_size), at);
  else if constexpr (count == 2) return adaptive_max_pool2d(x, dims_of(output_size), at);
  else return adaptive_max_pool3d(x, dims_of(output_size), at);
}

template <int count>
BatchNorm<count>::BatchNorm(int64_t num_features, const BatchNormOptions& options, SourceLocation at)
    : BatchNorm(num_features, options.eps, options.momentum, options.affine, options.track_running_stats,
                tensor_options(options), at) {}

template <int count>
BatchNorm<count>::BatchNorm(int64_t num_features, const detail::Given<double>& epsilon, std::optional<double> factor,
                            bool affine, bool track_running_stats, const TensorOptions& options, SourceLocation at)
    : eps(epsilon), momentum(factor) {
  TensorOptions plain = options;
  plain.requires_grad = false;
  if (track_running_stats) {
    running_mean = zeros({num_features}, plain, at);
    running_var = ones({num_features}, plain, at);
    num_batches_tracked = zeros(Dims(), {.dtype = Dtype::i64, .device = options.device}, at);
  }
  if (!affine) return;
  plain.requires_grad = true;
  weight = ones({num_features}, plain, at);
  bias = zeros({num_features}, plain, at);
}

template <int count>
Tensor BatchNorm<count>::operator()(const Tensor& x, SourceLocation at) const {
  if (!x.defined()) throw UserError(text::cat("BatchNorm", count, "d: the input is an undefined tensor"), at);
  const bool fits = x.ndim() == count + 2 || (count == 1 && x.ndim() == 2);
  if (!fits)
    throw UserError(text::cat("BatchNorm", count, "d takes ", count == 1 ? "2 or 3" : text::cat(count + 2),
                              " dimensions, got shape ", x.shape()),
                    at);
  const bool tracks = running_mean.defined();
  double factor = momentum.value_or(0);
  if (training && tracks) {
    const NoGrad no_grad;
    num_batches_tracked.add_(1, 1, at);
    if (!momentum) factor = 1.0 / num_batches_tracked.template item<double>();
  }
  return batch_norm(x, running_mean, running_var, weight, bias, training || !tracks, factor, eps, at);
}

template struct Convolution<1>;
template struct Convolution<2>;
template struct Convolution<3>;
template struct TransposedConvolution<1>;
template struct TransposedConvolution<2>;
template struct TransposedConvolution<3>;
template struct MaxPool<1>;
template struct MaxPool<2>;
template struct MaxPool<3>;
template struct AvgPool<1>;
template struct AvgPool<2>;
template struct AvgPool<3>;
template struct AdaptiveAvgPool<1>;
template struct AdaptiveAvgPool<2>;
template struct AdaptiveAvgPool<3>;
template struct AdaptiveMaxPool<1>;
template struct AdaptiveMaxPool<2>;
template struct AdaptiveMaxPool<3>;
template struct BatchNorm<1>;
template struct BatchNorm<2>;
template struct BatchNorm<3>;

}  // namespace fulgurite::nn
