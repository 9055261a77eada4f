#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <vector>
#include <utility>

#include <fulgurite/activation_layers.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::nn {

// Layers that pad, drop channels, fold windows and compare, with the names and arguments of PyTorch's.

/// Ways to fill a padding.
enum class PaddingFill : uint8_t { constant, reflect, replicate, circular };

/// Pads the last `dims` dimensions: by one width on all sides, or by [last dimension's left, right, the one before …].
template <int dims, PaddingFill fill>
struct PaddingLayer {
  std::vector<int64_t> padding;
  double value = 0;  // of constant padding
  PaddingLayer() = default;
  explicit PaddingLayer(int64_t width, double value = 0) : padding(size_t{2} * dims, width), value(value) {}
  explicit PaddingLayer(std::vector<int64_t> padding, double value = 0) : padding(std::move(padding)), value(value) {}
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("padding", layer.padding);
    member("value", layer.value);
  }
};
using ZeroPad1d = PaddingLayer<1, PaddingFill::constant>;
using ZeroPad2d = PaddingLayer<2, PaddingFill::constant>;
using ZeroPad3d = PaddingLayer<3, PaddingFill::constant>;
using ConstantPad1d = PaddingLayer<1, PaddingFill::constant>;
using ConstantPad2d = PaddingLayer<2, PaddingFill::constant>;
using ConstantPad3d = PaddingLayer<3, PaddingFill::constant>;
using ReflectionPad1d = PaddingLayer<1, PaddingFill::reflect>;
using ReflectionPad2d = PaddingLayer<2, PaddingFill::reflect>;
using ReflectionPad3d = PaddingLayer<3, PaddingFill::reflect>;
using ReplicationPad1d = PaddingLayer<1, PaddingFill::replicate>;
using ReplicationPad2d = PaddingLayer<2, PaddingFill::replicate>;
using ReplicationPad3d = PaddingLayer<3, PaddingFill::replicate>;
using CircularPad1d = PaddingLayer<1, PaddingFill::circular>;
using CircularPad2d = PaddingLayer<2, PaddingFill::circular>;
using CircularPad3d = PaddingLayer<3, PaddingFill::circular>;

/// Sets complete channels of [N, C, …] to zero while training.
template <int dims>
struct ChannelDropout {
  double p = 0.5;
  bool training = true;
  ChannelDropout() = default;
  explicit ChannelDropout(double p) : p(p) {}
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("p", layer.p);
    member("training", layer.training);
  }
};
using Dropout1d = ChannelDropout<1>;
using Dropout2d = ChannelDropout<2>;
using Dropout3d = ChannelDropout<3>;

/// Dropout that keeps the mean and variance of SELU's results, while training.
struct AlphaDropout {
  double p = 0.5;
  bool training = true;
  AlphaDropout() = default;
  explicit AlphaDropout(double p) : p(p) {}
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("p", layer.p);
    member("training", layer.training);
  }
};

/// AlphaDropout of complete channels.
struct FeatureAlphaDropout {
  double p = 0.5;
  bool training = true;
  FeatureAlphaDropout() = default;
  explicit FeatureAlphaDropout(double p) : p(p) {}
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("p", layer.p);
    member("training", layer.training);
  }
};

/// Options of Fold and Unfold; members are given in this order.
struct WindowOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  fulgurite::detail::Several<int64_t> dilation = 1;
  fulgurite::detail::Several<int64_t> padding = 0;
  fulgurite::detail::Several<int64_t> stride = 1;
};
/// Sums windows [N, C * kernel, L] into images [N, C, output_size…].
struct Fold {
  std::vector<int64_t> output_size, kernel_size;
  WindowOptions options;
  Fold() = default;
  Fold(std::vector<int64_t> output_size, std::vector<int64_t> kernel_size, WindowOptions options = {})
      : output_size(std::move(output_size)), kernel_size(std::move(kernel_size)), options(std::move(options)) {}
  Fold(std::vector<int64_t> output_size, int64_t kernel_size, const WindowOptions& options = {})
      : Fold(std::move(output_size), std::vector<int64_t>{kernel_size, kernel_size}, options) {}
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("output_size", layer.output_size);
    member("kernel_size", layer.kernel_size);
    member("dilation", layer.options.dilation.all());
    member("padding", layer.options.padding.all());
    member("stride", layer.options.stride.all());
  }
};
/// The windows of images [N, C, H, W] as columns, [N, C * kernel, L].
struct Unfold {
  std::vector<int64_t> kernel_size;
  WindowOptions options;
  Unfold() = default;
  explicit Unfold(std::vector<int64_t> kernel_size, WindowOptions options = {})
      : kernel_size(std::move(kernel_size)), options(std::move(options)) {}
  explicit Unfold(int64_t kernel_size, const WindowOptions& options = {})
      : Unfold(std::vector<int64_t>{kernel_size, kernel_size}, options) {}
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("kernel_size", layer.kernel_size);
    member("dilation", layer.options.dilation.all());
    member("padding", layer.options.padding.all());
    member("stride", layer.options.stride.all());
  }
};

/// The cosine of the angle between vectors along a dimension.
struct CosineSimilarity {
  int64_t dim = 1;
  double eps = 1e-8;
  CosineSimilarity() = default;
  explicit CosineSimilarity(int64_t dim, double eps = 1e-8) : dim(dim), eps(eps) {}
  Tensor operator()(const Tensor& x1, const Tensor& x2, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("dim", layer.dim);
    member("eps", layer.eps);
  }
};
/// The norm of order p of x1 - x2 + eps along the last dimension.
struct PairwiseDistance {
  double p = 2, eps = 1e-6;
  bool keepdim = false;
  PairwiseDistance() = default;
  explicit PairwiseDistance(double p, double eps = 1e-6, bool keepdim = false) : p(p), eps(eps), keepdim(keepdim) {}
  Tensor operator()(const Tensor& x1, const Tensor& x2, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("p", layer.p);
    member("eps", layer.eps);
    member("keepdim", layer.keepdim);
  }
};

}  // namespace fulgurite::nn
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
