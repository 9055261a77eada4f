#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <tuple>
#include <vector>

#include <fulgurite/detail/given.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::nn {

/// The maxima of output_size windows of kernel_size at random, slowly growing distances, and their indices in the
/// image (Graham 2014). Images [N, C, H, W] or [C, H, W]; `samples`, [N, C, 2] from 0 to below 1, chooses the windows
/// along the width and the height and is drawn if undefined. Throws UserError for windows that do not fit.
/// (torch.nn.functional.fractional_max_pool2d)
std::tuple<Tensor, Tensor> fractional_max_pool2d_with_indices(const Tensor& input, const Dims& kernel_size,
                                                              const Dims& output_size, const Tensor& samples = {},
                                                              SourceLocation at = SourceLocation::here());
Tensor fractional_max_pool2d(const Tensor& input, const Dims& kernel_size, const Dims& output_size,
                             const Tensor& samples = {}, SourceLocation at = SourceLocation::here());
/// The same for volumes [N, C, D, H, W] or [C, D, H, W]; `samples`, [N, C, 3], are for the depth, height and width.
/// (torch.nn.functional.fractional_max_pool3d)
std::tuple<Tensor, Tensor> fractional_max_pool3d_with_indices(const Tensor& input, const Dims& kernel_size,
                                                              const Dims& output_size, const Tensor& samples = {},
                                                              SourceLocation at = SourceLocation::here());
Tensor fractional_max_pool3d(const Tensor& input, const Dims& kernel_size, const Dims& output_size,
                             const Tensor& samples = {}, SourceLocation at = SourceLocation::here());

/// Options of fractional pooling: one of both; members are given in this order.
struct FractionalMaxPoolOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  Dims output_size = {};
  Numbers output_ratio = {};  // of the input's sizes, above 0 and below 1
};
/// The sizes of the last `count` dimensions of the result. Throws UserError unless exactly one of the options is given.
Dims fractional_output_size(const Tensor& input, const FractionalMaxPoolOptions& options, size_t count,
                            SourceLocation at);
template <int = 0>
Tensor fractional_max_pool2d(const Tensor& input, const Dims& kernel_size, const FractionalMaxPoolOptions& options,
                             SourceLocation at = SourceLocation::here()) {
  return fractional_max_pool2d(input, kernel_size, fractional_output_size(input, options, 2, at), Tensor(), at);
}
template <int = 0>
Tensor fractional_max_pool3d(const Tensor& input, const Dims& kernel_size, const FractionalMaxPoolOptions& options,
                             SourceLocation at = SourceLocation::here()) {
  return fractional_max_pool3d(input, kernel_size, fractional_output_size(input, options, 3, at), Tensor(), at);
}

/// fractional_max_pool2d, or 3d, as a layer.
template <size_t count>
struct FractionalMaxPool {
  std::vector<int64_t> kernel_size;
  std::vector<int64_t> output_size;
  std::vector<double> output_ratio;
  FractionalMaxPool() = default;
  /// UserError unless exactly one of the options is given.
  FractionalMaxPool(const Dims& kernel_size, const FractionalMaxPoolOptions& options,
                    SourceLocation at = SourceLocation::here());
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("kernel_size", layer.kernel_size);
    member("output_size", layer.output_size);
    member("output_ratio", layer.output_ratio);
  }
};
using FractionalMaxPool2d = FractionalMaxPool<2>;
using FractionalMaxPool3d = FractionalMaxPool<3>;

extern template struct FractionalMaxPool<2>;
extern template struct FractionalMaxPool<3>;

}  // namespace fulgurite::nn
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
