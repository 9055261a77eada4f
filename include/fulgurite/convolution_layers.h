#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <fulgurite/fields.h>
#include <fulgurite/layer_options.h>
#include <fulgurite/operators.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

// Layers over sequences (1d), images (2d) and volumes (3d). A single number applies to every dimension.
namespace nn {

/// The sizes of a window, one for every dimension or one for all.
using WindowSizes = std::vector<int64_t>;

/// The members shared by convolutions: settings and parameters.
template <int dims>
struct ConvolutionParameters {
  Tensor weight, bias;  // [out, in / groups, kernel…], transposed [in, out / groups, kernel…]; [out] or undefined
  WindowSizes stride{1}, padding{0}, dilation{1};
  int64_t groups = 1;
};

/// Each window of the input times weight, plus bias.
template <int dims>
struct Convolution : ConvolutionParameters<dims> {
  std::string padding_name;            // "same" or "valid", instead of numbers
  std::string padding_mode = "zeros";  // or "reflect", "replicate", "circular"
  Convolution() = default;
  Convolution(int64_t in_channels, int64_t out_channels, const Dims& kernel_size, const ConvOptions& options = {},
              SourceLocation at = SourceLocation::here());
  Convolution(int64_t in_channels, int64_t out_channels, const Dims& kernel_size,
              const fulgurite::detail::Given<Dims>& stride, const Padding& padding = 0, const Dims& dilation = 1,
              int64_t groups = 1, bool bias = true, std::string_view padding_mode = "zeros",
              const TensorOptions& options = {}, SourceLocation at = SourceLocation::here());
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
};
using Conv1d = Convolution<1>;
using Conv2d = Convolution<2>;
using Conv3d = Convolution<3>;

/// The transpose of a convolution: each input element distributes weight over the result.
template <int dims>
struct TransposedConvolution : ConvolutionParameters<dims> {
  WindowSizes output_padding{0};
  TransposedConvolution() = default;
  TransposedConvolution(int64_t in_channels, int64_t out_channels, const Dims& kernel_size,
                        const ConvTransposeOptions& options = {}, SourceLocation at = SourceLocation::here());
  TransposedConvolution(int64_t in_channels, int64_t out_channels, const Dims& kernel_size,
                        const fulgurite::detail::Given<Dims>& stride, const Dims& padding = 0,
                        const Dims& output_padding = 0, int64_t groups = 1, bool bias = true, const Dims& dilation = 1,
                        const TensorOptions& options = {}, SourceLocation at = SourceLocation::here());
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
};
using ConvTranspose1d = TransposedConvolution<1>;
using ConvTranspose2d = TransposedConvolution<2>;
using ConvTranspose3d = TransposedConvolution<3>;

/// The maximum of each window; an empty stride means the kernel's size.
template <int dims>
struct MaxPool {
  WindowSizes kernel_size, stride, padding{0}, dilation{1};
  bool ceil_mode = false;
  MaxPool() = default;
  explicit MaxPool(const Dims& kernel_size, const MaxPoolOptions& options = {});
  template <size_t count>  // MaxPool2d({3, 2}), which g++ 12 would find ambiguous
  explicit MaxPool(const int64_t (&kernel_size)[count])
      : MaxPool(Dims(std::vector<int64_t>(kernel_size, kernel_size + count))) {}
  explicit MaxPool(const Dims& kernel_size, const fulgurite::detail::Given<Dims>& stride);
  MaxPool(const Dims& kernel_size, const Dims& stride, const Dims& padding, const Dims& dilation = 1,
          bool ceil_mode = false);
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  /// The maxima and their indices, which MaxUnpool1d to MaxUnpool3d take.
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
};
using MaxPool1d = MaxPool<1>;
using MaxPool2d = MaxPool<2>;
using MaxPool3d = MaxPool<3>;

/// The mean of each window; an empty stride means the kernel's size.
template <int dims>
struct AvgPool {
  WindowSizes kernel_size, stride, padding{0};
  bool ceil_mode = false, count_include_pad = true;
  AvgPool() = default;
  explicit AvgPool(const Dims& kernel_size, const AvgPoolOptions& options = {});
  template <size_t count>  // AvgPool2d({3, 2}), which g++ 12 would find ambiguous
  explicit AvgPool(const int64_t (&kernel_size)[count])
      : AvgPool(Dims(std::vector<int64_t>(kernel_size, kernel_size + count))) {}
  explicit AvgPool(const Dims& kernel_size, const fulgurite::detail::Given<Dims>& stride);
  AvgPool(const Dims& kernel_size, const Dims& stride, const Dims& padding, bool ceil_mode = false,
          bool count_include_pad = true);
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
};
using AvgPool1d = AvgPool<1>;
using AvgPool2d = AvgPool<2>;
using AvgPool3d = AvgPool<3>;

/// The means of output_size nearly equal windows; -1 keeps a size.
template <int dims>
struct AdaptiveAvgPool {
  WindowSizes output_size;
  AdaptiveAvgPool() = default;
  explicit AdaptiveAvgPool(const Dims& output_size);
  template <size_t count>  // AdaptiveAvgPool2d({4}), which g++ 12 would find ambiguous
  explicit AdaptiveAvgPool(const int64_t (&output_size)[count])
      : AdaptiveAvgPool(Dims(std::vector<int64_t>(output_size, output_size + count))) {}
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
};
using AdaptiveAvgPool1d = AdaptiveAvgPool<1>;
using AdaptiveAvgPool2d = AdaptiveAvgPool<2>;
using AdaptiveAvgPool3d = AdaptiveAvgPool<3>;

/// The maxima of output_size nearly equal windows; -1 keeps a size.
template <int dims>
struct AdaptiveMaxPool {
  WindowSizes output_size;
  AdaptiveMaxPool() = default;
  explicit AdaptiveMaxPool(const Dims& output_size);
  template <size_t count>  // AdaptiveMaxPool2d({4}), which g++ 12 would find ambiguous
  explicit AdaptiveMaxPool(const int64_t (&output_size)[count])
      : AdaptiveMaxPool(Dims(std::vector<int64_t>(output_size, output_size + count))) {}
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
};
using AdaptiveMaxPool1d = AdaptiveMaxPool<1>;
using AdaptiveMaxPool2d = AdaptiveMaxPool<2>;
using AdaptiveMaxPool3d = AdaptiveMaxPool<3>;

/// Normalizes each channel to mean 0 and variance 1: in training by batch statistics, which update the running
/// statistics, otherwise by these.
template <int dims>
struct BatchNorm {
  Tensor weight, bias, running_mean, running_var;
  Tensor num_batches_tracked;  // one i64
  double eps = 1e-5;
  std::optional<double> momentum = 0.1;  // none: running statistics are cumulative averages
  bool training = true;
  BatchNorm() = default;
  explicit BatchNorm(int64_t num_features, const BatchNormOptions& options = {},
                     SourceLocation at = SourceLocation::here());
  explicit BatchNorm(int64_t num_features, const fulgurite::detail::Given<double>& eps,
                     std::optional<double> momentum = 0.1, bool affine = true, bool track_running_stats = true,
                     const TensorOptions& options = {}, SourceLocation at = SourceLocation::here());
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
};
using BatchNorm1d = BatchNorm<1>;
using BatchNorm2d = BatchNorm<2>;
using BatchNorm3d = BatchNorm<3>;

}  // namespace nn

namespace detail {
/// The members that the convolutions share.
void visit_convolution(auto& object, auto& member) {
  member("weight", object.weight);
  member("bias", object.bias);
  member("stride", object.stride);
  member("padding", object.padding);
  member("dilation", object.dilation);
  member("groups", object.groups);
}
}  // namespace detail

template <int dims>
struct Fields<nn::Convolution<dims>> {
  static void visit(auto& object, auto&& member) {
    detail::visit_convolution(object, member);
    member("padding_name", object.padding_name);
    member("padding_mode", object.padding_mode);
  }
};
template <int dims>
struct Fields<nn::TransposedConvolution<dims>> {
  static void visit(auto& object, auto&& member) {
    detail::visit_convolution(object, member);
    member("output_padding", object.output_padding);
  }
};
template <int dims>
struct Fields<nn::MaxPool<dims>> {
  static void visit(auto& object, auto&& member) {
    member("kernel_size", object.kernel_size);
    member("stride", object.stride);
    member("padding", object.padding);
    member("dilation", object.dilation);
    member("ceil_mode", object.ceil_mode);
  }
};
template <int dims>
struct Fields<nn::AvgPool<dims>> {
  static void visit(auto& object, auto&& member) {
    member("kernel_size", object.kernel_size);
    member("stride", object.stride);
    member("padding", object.padding);
    member("ceil_mode", object.ceil_mode);
    member("count_include_pad", object.count_include_pad);
  }
};
template <int dims>
struct Fields<nn::AdaptiveAvgPool<dims>> {
  static void visit(auto& object, auto&& member) { member("output_size", object.output_size); }
};
template <int dims>
struct Fields<nn::AdaptiveMaxPool<dims>> {
  static void visit(auto& object, auto&& member) { member("output_size", object.output_size); }
};
template <int dims>
struct Fields<nn::BatchNorm<dims>> {
  static void visit(auto& object, auto&& member) {
    member("weight", object.weight);
    member("bias", object.bias);
    member("running_mean", object.running_mean);
    member("running_var", object.running_var);
    member("num_batches_tracked", object.num_batches_tracked);
    member("eps", object.eps);
    member("momentum", object.momentum);
    member("training", object.training);
  }
};

namespace nn {
extern template struct Convolution<1>;
extern template struct Convolution<2>;
extern template struct Convolution<3>;
extern template struct TransposedConvolution<1>;
extern template struct TransposedConvolution<2>;
extern template struct TransposedConvolution<3>;
extern template struct MaxPool<1>;
extern template struct MaxPool<2>;
extern template struct MaxPool<3>;
extern template struct AvgPool<1>;
extern template struct AvgPool<2>;
extern template struct AvgPool<3>;
extern template struct AdaptiveAvgPool<1>;
extern template struct AdaptiveAvgPool<2>;
extern template struct AdaptiveAvgPool<3>;
extern template struct AdaptiveMaxPool<1>;
extern template struct AdaptiveMaxPool<2>;
extern template struct AdaptiveMaxPool<3>;
extern template struct BatchNorm<1>;
extern template struct BatchNorm<2>;
extern template struct BatchNorm<3>;
}  // namespace nn

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
