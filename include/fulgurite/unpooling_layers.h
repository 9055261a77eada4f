#pragma once
#include <fulgurite/detail/requirements.h>

// The inverse of max pooling, and pooling beside that of convolution_layers.h.
#include <cstdint>
#include <tuple>
#include <vector>

#include <fulgurite/detail/given.h>
#include <fulgurite/source_location.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::nn {

/// Zeros with each element at the index that max_pool1d_with_indices (2d, 3d) returned beside it. The sizes are those
/// of the pooling's input, [N, C, …] or [C, …]; where several sizes pool to the same one, output_size chooses. Throws
/// UserError for indices of another shape and for sizes that do not fit. (torch.nn.functional.max_unpool1d to
/// max_unpool3d)
Tensor max_unpool1d(const Tensor& input, const Tensor& indices, const Dims& kernel_size, const Dims& stride = {},
                    const Dims& padding = {0}, const Dims& output_size = {},
                    SourceLocation at = SourceLocation::here());
Tensor max_unpool2d(const Tensor& input, const Tensor& indices, const Dims& kernel_size, const Dims& stride = {},
                    const Dims& padding = {0}, const Dims& output_size = {},
                    SourceLocation at = SourceLocation::here());
Tensor max_unpool3d(const Tensor& input, const Tensor& indices, const Dims& kernel_size, const Dims& stride = {},
                    const Dims& padding = {0}, const Dims& output_size = {},
                    SourceLocation at = SourceLocation::here());

/// Options of MaxUnpool1d to MaxUnpool3d; the stride defaults to the kernel's size.
struct MaxUnpoolOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  Dims stride = {};
  Dims padding = 0;
};
/// max_unpool1d to max_unpool3d as layers.
template <int dims>
struct MaxUnpool {
  std::vector<int64_t> kernel_size, stride, padding{0};
  MaxUnpool() = default;
  explicit MaxUnpool(const Dims& kernel_size, const MaxUnpoolOptions& options = {});
  Tensor operator()(const Tensor& x, const Tensor& indices, const Dims& output_size = {},
                    SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("kernel_size", layer.kernel_size);
    member("stride", layer.stride);
    member("padding", layer.padding);
  }
};
using MaxUnpool1d = MaxUnpool<1>;
using MaxUnpool2d = MaxUnpool<2>;
using MaxUnpool3d = MaxUnpool<3>;

/// The norms of order norm_type of windows of [N, C, D, H, W] or [C, D, H, W]. (torch.nn.functional.lp_pool3d)
Tensor lp_pool3d(const Tensor& input, double norm_type, const Dims& kernel_size, const Dims& stride = {},
                 bool ceil_mode = false, SourceLocation at = SourceLocation::here());

/// Options of LPPool1d to LPPool3d; the stride defaults to the kernel's size.
struct LPPoolOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  Dims stride = {};
  bool ceil_mode = false;
};
/// lp_pool1d to lp_pool3d as layers.
template <int dims>
struct LPPool {
  double norm_type = 2;
  std::vector<int64_t> kernel_size, stride;
  bool ceil_mode = false;
  LPPool() = default;
  LPPool(double norm_type, const Dims& kernel_size, const LPPoolOptions& options = {});
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("norm_type", layer.norm_type);
    member("kernel_size", layer.kernel_size);
    member("stride", layer.stride);
    member("ceil_mode", layer.ceil_mode);
  }
};
using LPPool1d = LPPool<1>;
using LPPool2d = LPPool<2>;
using LPPool3d = LPPool<3>;

extern template struct MaxUnpool<1>;
extern template struct MaxUnpool<2>;
extern template struct MaxUnpool<3>;
extern template struct LPPool<1>;
extern template struct LPPool<2>;
extern template struct LPPool<3>;

}  // namespace fulgurite::nn
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
