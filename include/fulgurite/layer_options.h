#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include <fulgurite/detail/given.h>
#include <fulgurite/dtype.h>
#include <fulgurite/shape.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::nn {

// Named arguments of layers: `nn::Conv2d(3, 16, 3, {.stride = 2, .padding = 1, .bias = false})`. The names and defaults
// are those of PyTorch's layers; members are given in this order.

/// Options of Conv1d, Conv2d and Conv3d.
struct ConvOptions {
  detail::NamedMembers named_members = detail::NamedMembers();
  Dims stride = 1;
  Padding padding = 0;  // numbers, "same" or "valid"
  Dims dilation = 1;
  int64_t groups = 1;
  bool bias = true;
  std::string_view padding_mode = "zeros";  // or "reflect", "replicate", "circular"
  std::optional<Dtype> dtype = {};
  Device device = {};
};

/// Options of ConvTranspose1d, ConvTranspose2d and ConvTranspose3d.
struct ConvTransposeOptions {
  detail::NamedMembers named_members = detail::NamedMembers();
  Dims stride = 1;
  Dims padding = 0;
  Dims output_padding = 0;
  int64_t groups = 1;
  bool bias = true;
  Dims dilation = 1;
  std::optional<Dtype> dtype = {};
  Device device = {};
};

/// Options of MaxPool1d, MaxPool2d and MaxPool3d; the stride defaults to the kernel's size.
struct MaxPoolOptions {
  detail::NamedMembers named_members = detail::NamedMembers();
  Dims stride = {};
  Dims padding = 0;
  Dims dilation = 1;
  bool ceil_mode = false;
};

/// Options of AvgPool1d, AvgPool2d and AvgPool3d; the stride defaults to the kernel's size.
struct AvgPoolOptions {
  detail::NamedMembers named_members = detail::NamedMembers();
  Dims stride = {};
  Dims padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;
};

/// Options of BatchNorm1d, BatchNorm2d and BatchNorm3d.
struct BatchNormOptions {
  detail::NamedMembers named_members = detail::NamedMembers();
  double eps = 1e-5;
  std::optional<double> momentum = 0.1;  // none: running statistics are cumulative averages
  bool affine = true;
  bool track_running_stats = true;
  std::optional<Dtype> dtype = {};
  Device device = {};
};

/// Options of Linear.
struct LinearOptions {
  detail::NamedMembers named_members = detail::NamedMembers();
  bool bias = true;
  std::optional<Dtype> dtype = {};
  Device device = {};
};

/// Options of Embedding.
struct EmbeddingOptions {
  detail::NamedMembers named_members = detail::NamedMembers();
  std::optional<int64_t> padding_idx = {};
  bool scale_grad_by_freq = false;
  std::optional<Dtype> dtype = {};
  Device device = {};
};

/// Options of LayerNorm.
struct LayerNormOptions {
  detail::NamedMembers named_members = detail::NamedMembers();
  double eps = 1e-5;
  bool elementwise_affine = true;
  bool bias = true;
  std::optional<Dtype> dtype = {};
  Device device = {};
};

/// Options of RMSNorm; eps defaults to the dtype's machine epsilon.
struct RMSNormOptions {
  detail::NamedMembers named_members = detail::NamedMembers();
  std::optional<double> eps = {};
  bool elementwise_affine = true;
  std::optional<Dtype> dtype = {};
  Device device = {};
};

}  // namespace fulgurite::nn
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
