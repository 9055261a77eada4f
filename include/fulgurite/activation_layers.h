#pragma once
#include <fulgurite/detail/requirements.h>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fulgurite/detail/given.h>
#include <fulgurite/fields.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace nn {

// Activations and other layers without parameters, as PyTorch's layers of these names: `nn::GELU()`,
// `nn::LeakyReLU(0.2)`, `nn::Softmax(-1)`, or by name: `nn::GELU({.approximate = "tanh"})`. Each has the operator of
// its name in nn:: or fulgurite::.

/// Identity, as PyTorch's layer.
struct Identity {
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
};
/// ReLU, as PyTorch's layer.
struct ReLU {
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
};
/// ReLU6, as PyTorch's layer.
struct ReLU6 {
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
};
/// SiLU, as PyTorch's layer.
struct SiLU {
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
};
/// Mish, as PyTorch's layer.
struct Mish {
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
};
/// Sigmoid, as PyTorch's layer.
struct Sigmoid {
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
};
/// Tanh, as PyTorch's layer.
struct Tanh {
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
};
/// SELU, as PyTorch's layer.
struct SELU {
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
};
/// Softsign, as PyTorch's layer.
struct Softsign {
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
};
/// Tanhshrink, as PyTorch's layer.
struct Tanhshrink {
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
};
/// LogSigmoid, as PyTorch's layer.
struct LogSigmoid {
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
};
/// Hardswish, as PyTorch's layer.
struct Hardswish {
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
};
/// Hardsigmoid, as PyTorch's layer.
struct Hardsigmoid {
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
};
/// Along the channels of [N, C, H, W] or [C, H, W].
struct Softmax2d {
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
};

/// Options of GELU; members are given in this order.
struct GELUOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  std::string approximate = "none";  // or "tanh"
};
/// GELU, as PyTorch's layer.
struct GELU {
  std::string approximate = "none";
  GELU() = default;
  template <std::convertible_to<std::string_view> T>
  explicit GELU(const T& approximate) : approximate(approximate) {}
  GELU(const GELUOptions& options) : approximate(options.approximate) {}
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) { member("approximate", layer.approximate); }
};

/// Options of LeakyReLU; members are given in this order.
struct LeakyReLUOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  double negative_slope = 0.01;
};
/// LeakyReLU, as PyTorch's layer.
struct LeakyReLU {
  double negative_slope = 0.01;
  LeakyReLU() = default;
  explicit LeakyReLU(double negative_slope) : negative_slope(negative_slope) {}
  LeakyReLU(const LeakyReLUOptions& options) : negative_slope(options.negative_slope) {}
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) { member("negative_slope", layer.negative_slope); }
};

/// Options of ELU and CELU; members are given in this order.
struct AlphaOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  double alpha = 1;
};
/// ELU, as PyTorch's layer.
struct ELU {
  double alpha = 1;
  ELU() = default;
  explicit ELU(double alpha) : alpha(alpha) {}
  ELU(const AlphaOptions& options) : alpha(options.alpha) {}
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) { member("alpha", layer.alpha); }
};
/// CELU, as PyTorch's layer.
struct CELU {
  double alpha = 1;
  CELU() = default;
  explicit CELU(double alpha) : alpha(alpha) {}
  CELU(const AlphaOptions& options) : alpha(options.alpha) {}
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) { member("alpha", layer.alpha); }
};

/// Options of Softplus; members are given in this order.
struct SoftplusOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  double beta = 1;
  double threshold = 20;
};
/// Softplus, as PyTorch's layer.
struct Softplus {
  double beta = 1, threshold = 20;
  Softplus() = default;
  explicit Softplus(double beta, double threshold = 20) : beta(beta), threshold(threshold) {}
  Softplus(const SoftplusOptions& options) : beta(options.beta), threshold(options.threshold) {}
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("beta", layer.beta);
    member("threshold", layer.threshold);
  }
};

/// Options of Softshrink and Hardshrink; members are given in this order.
struct ShrinkOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  double lambd = 0.5;
};
/// Softshrink, as PyTorch's layer.
struct Softshrink {
  double lambd = 0.5;
  Softshrink() = default;
  explicit Softshrink(double lambd) : lambd(lambd) {}
  Softshrink(const ShrinkOptions& options) : lambd(options.lambd) {}
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) { member("lambd", layer.lambd); }
};
/// Hardshrink, as PyTorch's layer.
struct Hardshrink {
  double lambd = 0.5;
  Hardshrink() = default;
  explicit Hardshrink(double lambd) : lambd(lambd) {}
  Hardshrink(const ShrinkOptions& options) : lambd(options.lambd) {}
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) { member("lambd", layer.lambd); }
};

/// Options of Hardtanh; members are given in this order.
struct HardtanhOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  double min_val = -1;
  double max_val = 1;
};
/// Hardtanh, as PyTorch's layer.
struct Hardtanh {
  double min_val = -1, max_val = 1;
  Hardtanh() = default;
  explicit Hardtanh(double min_val, double max_val = 1) : min_val(min_val), max_val(max_val) {}
  Hardtanh(const HardtanhOptions& options) : min_val(options.min_val), max_val(options.max_val) {}
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("min_val", layer.min_val);
    member("max_val", layer.max_val);
  }
};

/// Threshold, as PyTorch's layer.
struct Threshold {
  double threshold = 0, value = 0;
  Threshold() = default;
  Threshold(double threshold, double value) : threshold(threshold), value(value) {}
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("threshold", layer.threshold);
    member("value", layer.value);
  }
};

/// Options of layers that work along one dimension; members are given in this order.
struct DimOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  int64_t dim = -1;
};
/// A layer that works along one dimension, the last one unless another is given.
struct AlongDim {
  int64_t dim = -1;
  AlongDim() = default;
  explicit AlongDim(int64_t dim) : dim(dim) {}
  AlongDim(const DimOptions& options) : dim(options.dim) {}
  static void parts(auto& layer, auto&& member) { member("dim", layer.dim); }
};
/// Softmax, as PyTorch's layer.
struct Softmax : AlongDim {
  using AlongDim::AlongDim;
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
};
/// LogSoftmax, as PyTorch's layer.
struct LogSoftmax : AlongDim {
  using AlongDim::AlongDim;
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
};
/// Softmin, as PyTorch's layer.
struct Softmin : AlongDim {
  using AlongDim::AlongDim;
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
};
/// GLU, as PyTorch's layer.
struct GLU : AlongDim {
  using AlongDim::AlongDim;
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
};

/// Options of PReLU; members are given in this order.
struct PReLUOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  int64_t num_parameters = 1;
  double init = 0.25;
};
/// A slope below zero that is learned, one for all or one for each channel.
struct PReLU {
  Tensor weight;
  explicit PReLU(int64_t num_parameters = 1, double init = 0.25, SourceLocation at = SourceLocation::here());
  PReLU(const PReLUOptions& options, SourceLocation at = SourceLocation::here())
      : PReLU(options.num_parameters, options.init, at) {}
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) { member("weight", layer.weight); }
};

/// Options of rrelu and RReLU; members are given in this order.
struct RReLUOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  double lower = 1.0 / 8;
  double upper = 1.0 / 3;
};
/// Elements below zero times a slope: in training drawn evenly from [lower, upper) for each, else the mean of both.
/// Throws UserError if lower is above upper. (torch.nn.functional.rrelu)
Tensor rrelu(const Tensor& input, double lower = 1.0 / 8, double upper = 1.0 / 3, bool training = false,
             SourceLocation at = SourceLocation::here());
/// rrelu as a layer.
struct RReLU {
  double lower = 1.0 / 8, upper = 1.0 / 3;
  bool training = true;
  RReLU() = default;
  RReLU(double lower, double upper) : lower(lower), upper(upper) {}
  RReLU(const RReLUOptions& options) : lower(options.lower), upper(options.upper) {}
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("lower", layer.lower);
    member("upper", layer.upper);
    member("training", layer.training);
  }
};

/// Options of Flatten; members are given in this order.
struct FlattenOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  int64_t start_dim = 1;
  int64_t end_dim = -1;
};
/// Joins dimensions, all but the first unless others are given.
struct Flatten {
  int64_t start_dim = 1, end_dim = -1;
  Flatten() = default;
  explicit Flatten(int64_t start_dim, int64_t end_dim = -1) : start_dim(start_dim), end_dim(end_dim) {}
  Flatten(const FlattenOptions& options) : start_dim(options.start_dim), end_dim(options.end_dim) {}
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("start_dim", layer.start_dim);
    member("end_dim", layer.end_dim);
  }
};
/// Divides a dimension.
struct Unflatten {
  int64_t dim = 0;
  std::vector<int64_t> sizes;
  Unflatten() = default;
  Unflatten(int64_t dim, std::vector<int64_t> sizes) : dim(dim), sizes(std::move(sizes)) {}
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("dim", layer.dim);
    member("sizes", layer.sizes);
  }
};

/// PixelShuffle, as PyTorch's layer.
struct PixelShuffle {
  int64_t upscale_factor = 1;
  PixelShuffle() = default;
  explicit PixelShuffle(int64_t upscale_factor) : upscale_factor(upscale_factor) {}
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) { member("upscale_factor", layer.upscale_factor); }
};
/// PixelUnshuffle, as PyTorch's layer.
struct PixelUnshuffle {
  int64_t downscale_factor = 1;
  PixelUnshuffle() = default;
  explicit PixelUnshuffle(int64_t downscale_factor) : downscale_factor(downscale_factor) {}
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) { member("downscale_factor", layer.downscale_factor); }
};
/// ChannelShuffle, as PyTorch's layer.
struct ChannelShuffle {
  int64_t groups = 1;
  ChannelShuffle() = default;
  explicit ChannelShuffle(int64_t groups) : groups(groups) {}
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) { member("groups", layer.groups); }
};

/// Options of Upsample; members are given in this order.
struct UpsampleOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  fulgurite::detail::Several<int64_t> size = {};
  fulgurite::detail::Several<double> scale_factor = {};
  std::string mode = "nearest";
  std::optional<bool> align_corners = {};
};
/// Interpolates to a size or by a factor.
struct Upsample {
  UpsampleOptions options;
  Upsample() = default;
  Upsample(UpsampleOptions options) : options(std::move(options)) {}
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("size", layer.options.size.all());
    member("scale_factor", layer.options.scale_factor.all());
    member("mode", layer.options.mode);
    member("align_corners", layer.options.align_corners);
  }
};

/// Upsample of images to a size or by a factor: nearest, and bilinear with aligned corners.
struct UpsamplingNearest2d : Upsample {
  UpsamplingNearest2d() = default;
  explicit UpsamplingNearest2d(double scale_factor) : Upsample({.scale_factor = scale_factor}) {}
  explicit UpsamplingNearest2d(std::vector<int64_t> size) : Upsample({.size = std::move(size)}) {}
};
struct UpsamplingBilinear2d : Upsample {
  UpsamplingBilinear2d() = default;
  explicit UpsamplingBilinear2d(double scale_factor)
      : Upsample({.scale_factor = scale_factor, .mode = "bilinear", .align_corners = true}) {}
  explicit UpsamplingBilinear2d(std::vector<int64_t> size)
      : Upsample({.size = std::move(size), .mode = "bilinear", .align_corners = true}) {}
};

}  // namespace nn

/// Layers with constructors list their parts themselves.
template <class Layer>
requires requires(Layer& layer) {
  Layer::parts(layer, [](std::string_view, auto&) {});
}
struct Fields<Layer> {
  static void visit(auto& object, auto&& member) { Layer::parts(object, member); }
};

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
