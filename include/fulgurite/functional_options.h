#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include <fulgurite/detail/given.h>
#include <fulgurite/operators.h>
#include <fulgurite/tensor.h>
#include <fulgurite/unpooling_layers.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::nn {

// Functions of layers with named arguments: `nn::conv2d(x, weight, bias, {.stride = 2, .padding = 1})`. They are
// templates, so that braces without names are the arguments of operators.h.

/// Options of conv1d, conv2d and conv3d; members are given in this order.
struct ConvFuncOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  Dims stride = 1;
  Padding padding = 0;
  Dims dilation = 1;
  int64_t groups = 1;
};
/// conv1d, conv2d and conv3d of operators.h with named arguments.
template <int = 0>
Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvFuncOptions& options,
              SourceLocation at = SourceLocation::here()) {
  return conv1d(input, weight, bias, options.stride, options.padding, options.dilation, options.groups, at);
}
template <int = 0>
Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvFuncOptions& options,
              SourceLocation at = SourceLocation::here()) {
  return conv2d(input, weight, bias, options.stride, options.padding, options.dilation, options.groups, at);
}
template <int = 0>
Tensor conv3d(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvFuncOptions& options,
              SourceLocation at = SourceLocation::here()) {
  return conv3d(input, weight, bias, options.stride, options.padding, options.dilation, options.groups, at);
}

/// Options of conv_transpose1d, conv_transpose2d and conv_transpose3d; members are given in this order.
struct ConvTransposeFuncOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  Dims stride = 1;
  Dims padding = 0;
  Dims output_padding = 0;
  int64_t groups = 1;
  Dims dilation = 1;
};
/// conv_transpose1d, conv_transpose2d and conv_transpose3d of operators.h with named arguments.
template <int = 0>
Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const ConvTransposeFuncOptions& options, SourceLocation at = SourceLocation::here()) {
  return conv_transpose1d(input, weight, bias, options.stride, options.padding, options.output_padding, options.groups,
                          options.dilation, at);
}
template <int = 0>
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const ConvTransposeFuncOptions& options, SourceLocation at = SourceLocation::here()) {
  return conv_transpose2d(input, weight, bias, options.stride, options.padding, options.output_padding, options.groups,
                          options.dilation, at);
}
template <int = 0>
Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const ConvTransposeFuncOptions& options, SourceLocation at = SourceLocation::here()) {
  return conv_transpose3d(input, weight, bias, options.stride, options.padding, options.output_padding, options.groups,
                          options.dilation, at);
}

/// Options of interpolate; members are given in this order.
struct InterpolateFuncOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  Dims size = {};
  Numbers scale_factor = {};
  std::string_view mode = "nearest";
  std::optional<bool> align_corners = {};
  std::optional<bool> recompute_scale_factor = {};
  bool antialias = false;
};
/// interpolate of operators.h with named arguments.
template <int = 0>
Tensor interpolate(const Tensor& input, const InterpolateFuncOptions& options,
                   SourceLocation at = SourceLocation::here()) {
  return interpolate(input, options.size, options.scale_factor, options.mode, options.align_corners,
                     options.recompute_scale_factor, options.antialias, at);
}

/// Options of pad; members are given in this order.
struct PadFuncOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  std::string_view mode = "constant";
  std::optional<Float> value = {};
};
/// pad of operators.h with named arguments.
template <int = 0>
Tensor pad(const Tensor& input, const Dims& pad, const PadFuncOptions& options,
           SourceLocation at = SourceLocation::here()) {
  return nn::pad(input, pad, options.mode, options.value, at);
}

/// Options of max_pool1d to max_pool3d as functions; the stride defaults to the kernel's size. Members are given in
/// this order.
struct MaxPoolFuncOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  Dims stride = {};
  Dims padding = 0;
  Dims dilation = 1;
  bool ceil_mode = false;
};
/// max_pool1d, max_pool2d and max_pool3d of operators.h with named arguments.
template <int = 0>
Tensor max_pool2d(const Tensor& input, const Dims& kernel_size, const MaxPoolFuncOptions& options,
                  SourceLocation at = SourceLocation::here()) {
  return max_pool2d(input, kernel_size, options.stride, options.padding, options.dilation, options.ceil_mode, at);
}
template <int = 0>
Tensor max_pool1d(const Tensor& input, const Dims& kernel_size, const MaxPoolFuncOptions& options,
                  SourceLocation at = SourceLocation::here()) {
  return max_pool1d(input, kernel_size, options.stride, options.padding, options.dilation, options.ceil_mode, at);
}
template <int = 0>
Tensor max_pool3d(const Tensor& input, const Dims& kernel_size, const MaxPoolFuncOptions& options,
                  SourceLocation at = SourceLocation::here()) {
  return max_pool3d(input, kernel_size, options.stride, options.padding, options.dilation, options.ceil_mode, at);
}

/// Options of avg_pool1d to avg_pool3d as functions; the stride defaults to the kernel's size. Members are given in
/// this order.
struct AvgPoolFuncOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  Dims stride = {};
  Dims padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;
};
/// avg_pool1d, avg_pool2d and avg_pool3d of operators.h with named arguments.
template <int = 0>
Tensor avg_pool1d(const Tensor& input, const Dims& kernel_size, const AvgPoolFuncOptions& options,
                  SourceLocation at = SourceLocation::here()) {
  return avg_pool1d(input, kernel_size, options.stride, options.padding, options.ceil_mode, options.count_include_pad,
                    at);
}
template <int = 0>
Tensor avg_pool2d(const Tensor& input, const Dims& kernel_size, const AvgPoolFuncOptions& options,
                  SourceLocation at = SourceLocation::here()) {
  return avg_pool2d(input, kernel_size, options.stride, options.padding, options.ceil_mode, options.count_include_pad,
                    {}, at);
}
template <int = 0>
Tensor avg_pool3d(const Tensor& input, const Dims& kernel_size, const AvgPoolFuncOptions& options,
                  SourceLocation at = SourceLocation::here()) {
  return avg_pool3d(input, kernel_size, options.stride, options.padding, options.ceil_mode, options.count_include_pad,
                    {}, at);
}

}  // namespace fulgurite::nn
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
