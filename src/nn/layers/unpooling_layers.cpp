// The inverse of max pooling; pooling by norms and by random windows.
#include <fulgurite/unpooling_layers.h>

#include <fulgurite/autograd.h>
#include <fulgurite/compositions.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::nn {

namespace {

using Sizes = std::vector<int64_t>;

Dims dims_of(const Sizes& sizes) { return sizes.empty() ? Dims() : Dims(sizes); }

/// One number for each of `count` dimensions.
Sizes window(const Dims& given, size_t count, const char* function, const char* name, SourceLocation at) {
  Sizes sizes = given.to_vector();
  if (sizes.size() == 1) sizes.resize(count, sizes[0]);
  if (sizes.size() != count)
    throw UserError(text::cat(function, ": ", name, " must be 1 or ", count, " numbers, not ", sizes.size()), at);
  return sizes;
}

/// The sizes whose pooling gives those of `input`.
Sizes pooled_from(const Tensor& input, const Sizes& kernel, const Sizes& stride, const Sizes& padding,
                  const Dims& output_size, const char* function, SourceLocation at) {
  const size_t count = kernel.size();
  Sizes sizes(count);
  for (size_t d = 0; d < count; ++d) {
    const int64_t windows = input.size(static_cast<int>(d) - static_cast<int>(count)).hint();
    sizes[d] = (windows - 1) * stride[d] - 2 * padding[d] + kernel[d];
  }
  if (output_size.empty()) return sizes;
  Sizes chosen = output_size.to_vector();  // also with the dimensions before those of the windows
  if (chosen.size() > count) chosen.erase(chosen.begin(), chosen.end() - static_cast<std::ptrdiff_t>(count));
  if (chosen.size() != count)
    throw UserError(text::cat(function, ": output_size must have ", count, " sizes, not ", chosen.size()), at);
  for (size_t d = 0; d < count; ++d)
    if (chosen[d] <= sizes[d] - stride[d] || chosen[d] >= sizes[d] + stride[d])
      throw UserError(text::cat(function, ": size ", d, " of output_size must be between ", sizes[d] - stride[d],
                                " and ", sizes[d] + stride[d], ", not ", chosen[d]),
                      at);
  return chosen;
}

Tensor max_unpool(const Tensor& input, const Tensor& indices, const Dims& kernel_size, const Dims& strides,
                  const Dims& paddings, const Dims& output_size, size_t count, const char* function,
                  SourceLocation at) {
  if (!input.defined() || !indices.defined())
    throw UserError(text::cat(function, ": the input or indices are an undefined tensor"), at);
  const auto dimensions = static_cast<size_t>(input.dim());
  if (dimensions != count + 1 && dimensions != count + 2)
    throw UserError(
        text::cat(function, ": the input has ", count + 1, " or ", count + 2, " dimensions, not ", type_text(input)),
        at);
  if (indices.dtype() != Dtype::i64 || indices.shape() != input.shape())
    throw UserError(text::cat(function, ": indices must be i64 in the shape of the input, ", input.shape(), ", not ",
                              type_text(indices)),
                    at);
  const Sizes kernel = window(kernel_size, count, function, "kernel_size", at);
  const Sizes stride = strides.empty() ? kernel : window(strides, count, function, "stride", at);
  const Sizes padding = window(paddings, count, function, "padding", at);
  const Sizes sizes = pooled_from(input, kernel, stride, padding, output_size, function, at);
  Shape flat, whole;
  for (size_t d = 0; d < dimensions - count; ++d) flat.push_back(input.shape()[d]);
  whole = flat;
  Int area = 1;
  for (const int64_t size : sizes) {
    whole.push_back(size);
    area = area * size;
  }
  Shape windows = flat;
  windows.push_back(-1);
  flat.push_back(area);
  if (input.numel() == 0) return zeros(whole, {.dtype = input.dtype()}, at);
  const Tensor zero = zeros(flat, {.dtype = input.dtype()}, at);
  const Tensor index = reshape(indices, windows, at), source = reshape(input, windows, at);
  return reshape(scatter(zero, -1, index, source, at), whole, at);
}

}  // namespace

Tensor max_unpool1d(const Tensor& input, const Tensor& indices, const Dims& kernel, const Dims& stride,
                    const Dims& padding, const Dims& output_size, SourceLocation at) {
  return max_unpool(input, indices, kernel, stride, padding, output_size, 1, "max_unpool1d", at);
}
Tensor max_unpool2d(const Tensor& input, const Tensor& indices, const Dims& kernel, const Dims& stride,
                    const Dims& padding, const Dims& output_size, SourceLocation at) {
  return max_unpool(input, indices, kernel, stride, padding, output_size, 2, "max_unpool2d", at);
}
Tensor max_unpool3d(const Tensor& input, const Tensor& indices, const Dims& kernel, const Dims& stride,
                    const Dims& padding, const Dims& output_size, SourceLocation at) {
  return max_unpool(input, indices, kernel, stride, padding, output_size, 3, "max_unpool3d", at);
}

template <int count>
MaxUnpool<count>::MaxUnpool(const Dims& kernel, const MaxUnpoolOptions& options)
    : kernel_size(kernel.to_vector()), stride(options.stride.to_vector()), padding(options.padding.to_vector()) {}

template <int count>
Tensor MaxUnpool<count>::operator()(const Tensor& x, const Tensor& indices, const Dims& output_size,
                                    SourceLocation at) const {
  const Dims kernel = dims_of(kernel_size), strides = dims_of(stride), paddings = dims_of(padding);
  if constexpr (count == 1) return max_unpool1d(x, indices, kernel, strides, paddings, output_size, at);
  else if constexpr (count == 2) return max_unpool2d(x, indices, kernel, strides, paddings, output_size, at);
  else return max_unpool3d(x, indices, kernel, strides, paddings, output_size, at);
}

Tensor lp_pool3d(const Tensor& input, double norm_type, const Dims& kernel_size, const Dims& stride, bool ceil_mode,
                 SourceLocation at) {
  const Sizes kernel = window(kernel_size, 3, "lp_pool3d", "kernel_size", at);
  const Tensor powers = pow(input, norm_type, at);
  const Tensor means = avg_pool3d(powers, kernel_size, stride, 0, ceil_mode, true, {}, at);
  const Tensor sums = mul(means, kernel[0] * kernel[1] * kernel[2], at);
  const Tensor sizes = mul(sign(sums, at), relu(abs(sums, at), at), at);
  return pow(sizes, 1 / norm_type, at);
}

template <int count>
LPPool<count>::LPPool(double order, const Dims& kernel, const LPPoolOptions& options)
    : norm_type(order),
      kernel_size(kernel.to_vector()),
      stride(options.stride.to_vector()),
      ceil_mode(options.ceil_mode) {}

template <int count>
Tensor LPPool<count>::operator()(const Tensor& x, SourceLocation at) const {
  const Dims kernel = dims_of(kernel_size), strides = dims_of(stride);
  if constexpr (count == 2) return lp_pool2d(x, norm_type, kernel, strides, ceil_mode, at);
  else if constexpr (count == 3) return lp_pool3d(x, norm_type, kernel, strides, ceil_mode, at);
  else {
    const std::optional<int64_t> step = stride.empty() ? std::nullopt : std::optional<int64_t>(stride[0]);
    return lp_pool1d(x, norm_type, kernel_size.at(0), step, ceil_mode, at);
  }
}

template struct MaxUnpool<1>;
template struct MaxUnpool<2>;
template struct MaxUnpool<3>;
template struct LPPool<1>;
template struct LPPool<2>;
template struct LPPool<3>;

}  // namespace fulgurite::nn
