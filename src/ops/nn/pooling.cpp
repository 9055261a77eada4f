// Pooling primitives for any number of trailing spatial dimensions.
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/generated/symbols.h"
#include "ops/nn/window_rules.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {
namespace {

/// Requires all sizes but the batch's to be positive.
void check_elements(const Shape& shape, size_t count) {
  for (size_t d = shape.size() == count + 1 ? 0 : 1; d < shape.size(); ++d)
    require(shape[d] > 0, "input may be empty in the batch alone, got shape ", shape);
}

void check_pooled(const Tensor& x, size_t count) {
  require(count >= 1 && count <= 3, "kernel_size must have 1 to 3 numbers, got ", count);
  require(x.ndim() > static_cast<int64_t>(count), "input must have more than ", count, " dimensions, got shape ",
          x.shape());
  require(x.dtype() != Dtype::boolean, "not defined for booleans");
  check_elements(x.shape(), count);
}

/// The windows of arguments kernel_size, stride, padding (and dilation); an empty stride means the kernel's size.
Windows windows_of(Arguments a, size_t first, bool has_dilation) {
  const size_t count = a[first].integers().size();
  Windows w;
  w.kernel = a[first].shape();
  w.stride = for_dimensions(a[first + 1].integers(), count, "stride");
  w.padding = for_dimensions(a[first + 2].integers(), count, "padding");
  if (has_dilation) w.dilation = for_dimensions(a[first + 3].integers(), count, "dilation");
  else w.dilation.resize(count, 1);
  require_at_least(w.kernel, 1, "kernel_size");
  require_at_least(w.stride, 1, "stride");
  require_at_least(w.padding, 0, "padding");
  require_at_least(w.dilation, 1, "dilation");
  for (size_t d = 0; d < count; ++d)
    require(w.padding[d] * 2 <= w.dilation[d] * (w.kernel[d] - 1) + 1, "padding ", w.padding,
            " must be at most half of the kernel's reach, kernel_size ", w.kernel, " with dilation ", w.dilation);
  return w;
}

Shape pooled_shape(const Shape& shape, const Windows& w, bool ceil_mode) {
  const Shape counts = window_counts(last_sizes(shape, w.kernel.size()), w, ceil_mode);
  return joined_sizes(leading_sizes(shape, w.kernel.size()), counts);
}

Shape resized_shape(const Tensor& x, const Argument& size) {
  const Shape sizes = size.shape();
  check_pooled(x, sizes.size());
  require_at_least(sizes, 0, "output_size");
  return joined_sizes(leading_sizes(x.shape(), sizes.size()), sizes);
}

void push_with_indices(const Tensor& x, const Shape& shape, InferredTypes& out) {
  out.push_back(like(x, shape));
  out.push_back({shape, Dtype::i64, x.device()});
}

/// Scatters the cotangents of the chosen elements, accumulating; result 1 has their indices in the spatial dimensions.
void gradient_of_choice(Gradient& g) {
  const size_t count = g.argument(1).integers().size();
  const Shape shape = g.tensor(0).shape(), leading = leading_sizes(shape, count);
  const Shape sizes = last_sizes(shape, count), counts = last_sizes(g.result(1).shape(), count);
  const Shape flat = joined_sizes(leading, {sizes.numel()}), chosen = joined_sizes(leading, {counts.numel()});
  const Tensor places = reshape(g.result(1), chosen);
  const Tensor cotangent = reshape(g.cotangent(), chosen);
  const Tensor zeros = fulgurite::zeros(flat, {.dtype = cotangent.dtype(), .device = cotangent.device()});
  const Tensor added = scatter_add(zeros, -1, places, cotangent);
  g.set(0, reshape(added, shape));
}

void require_floating(const Tensor& x) { require(is_floating(x.dtype()), "needs a floating dtype, not ", x.dtype()); }

void check_average(Arguments a, size_t divisor) {
  if (!a[divisor].is_none()) require(a[divisor].integer() != 0, "divisor_override must not be 0");
}

}  // namespace

constinit const Symbol prims_max_pool_symbol{
    .signature =
        "prims.max_pool(Tensor input, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool "
        "ceil_mode) -> (Tensor, Tensor)",
    .documentation = "The largest element of each window, and its number among the elements of the spatial dimensions.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const Tensor& x = a[0].tensor();
          check_pooled(x, a[1].integers().size());
          push_with_indices(x, pooled_shape(x.shape(), windows_of(a, 1, true), a[5].boolean()), out);
        },
    .gradient = gradient_of_choice,
    .python = "max_pool({0}, {1}, {2}, {3}, {4}, {5})",
    .python_definition =
        "def max_pool(x, kernel, stride, padding, dilation, ceil_mode):\n"
        "  pools = [torch.nn.functional.max_pool1d, torch.nn.functional.max_pool2d, torch.nn.functional.max_pool3d]\n"
        "  return pools[len(kernel) - 1](x, kernel, stride, padding, dilation, ceil_mode=ceil_mode, "
        "return_indices=True)\n",
};

constinit const Symbol prims_adaptive_max_pool_symbol{
    .signature = "prims.adaptive_max_pool(Tensor input, int[] output_size) -> (Tensor, Tensor)",
    .documentation =
        "The largest elements of as many nearly equal windows as asked for, and their numbers as of prims.max_pool.",
    .infer = [](Arguments a,
                InferredTypes& out) { push_with_indices(a[0].tensor(), resized_shape(a[0].tensor(), a[1]), out); },
    .gradient = gradient_of_choice,
    .python = "adaptive_max_pool({0}, {1})",
    .python_definition =
        "def adaptive_max_pool(x, size):\n"
        "  pools = [torch.nn.functional.adaptive_max_pool1d, torch.nn.functional.adaptive_max_pool2d, "
        "torch.nn.functional.adaptive_max_pool3d]\n"
        "  return pools[len(size) - 1](x, size if len(size) > 1 else size[0], return_indices=True)\n",
};

constinit const Symbol prims_avg_pool_symbol{
    .signature =
        "prims.avg_pool(Tensor input, int[] kernel_size, int[] stride, int[] padding, bool ceil_mode, bool "
        "count_include_pad, int? divisor_override) -> Tensor",
    .documentation = "The mean of each window.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const Tensor& x = a[0].tensor();
          check_pooled(x, a[1].integers().size());
          check_average(a, 6);
          out.push_back(like(x, pooled_shape(x.shape(), windows_of(a, 1, false), a[4].boolean())));
        },
    .gradient =
        [](Gradient& g) {
          const Shape sizes = last_sizes(g.tensor(0).shape(), g.argument(1).integers().size());
          g.set(0, prims::avg_pool_backward(g.cotangent(), sizes, g.argument(1).shape(), g.argument(2).shape(),
                                            g.argument(3).shape(), g.argument(4).boolean(), g.argument(5).boolean(),
                                            g.argument(6).optional_integer()));
        },
    .python = "avg_pool({0}, {1}, {2}, {3}, {4}, {5}, {6})",
    .python_definition =
        "def avg_pool(x, kernel, stride, padding, ceil_mode, count_include_pad, divisor):\n"
        "  if len(kernel) == 1 and divisor is not None:\n"
        "    return avg_pool(x.unsqueeze(-2), (1, *kernel), (1, *stride), (0, *padding), ceil_mode, "
        "count_include_pad,\n"
        "                    divisor).squeeze(-2)\n"
        "  pools = [torch.nn.functional.avg_pool1d, torch.nn.functional.avg_pool2d, torch.nn.functional.avg_pool3d]\n"
        "  divisors = () if len(kernel) == 1 else (divisor,)\n"
        "  return pools[len(kernel) - 1](x, kernel, stride, padding, ceil_mode, count_include_pad, *divisors)\n",
};

constinit const Symbol prims_avg_pool_backward_symbol{
    .signature =
        "prims.avg_pool_backward(Tensor grad, int[] size, int[] kernel_size, int[] stride, int[] padding, bool "
        "ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor",
    .documentation =
        "Each number divided and spread over its window of an input of this size: the cotangent of prims.avg_pool's "
        "input.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const Tensor& grad = a[0].tensor();
          const Shape sizes = a[1].shape();
          const size_t count = a[2].integers().size();
          check_pooled(grad, count);
          require_floating(grad);
          check_average(a, 7);
          require(sizes.size() == count, "size must have ", count, " numbers, got ", sizes);
          require_at_least(sizes, 1, "size");
          const Shape shape = joined_sizes(leading_sizes(grad.shape(), count), sizes);
          const Shape expected = pooled_shape(shape, windows_of(a, 2, false), a[5].boolean());
          require(grad.shape() == expected, "grad has shape ", grad.shape(), ", expected ", expected);
          out.push_back(like(grad, shape));
        },
    .gradient =
        [](Gradient& g) {
          g.set(0, prims::avg_pool(g.cotangent(), g.argument(2).shape(), g.argument(3).shape(), g.argument(4).shape(),
                                   g.argument(5).boolean(), g.argument(6).boolean(), g.argument(7).optional_integer()));
        },
    .python = "avg_pool_backward({0}, {1}, {2}, {3}, {4}, {5}, {6}, {7})",
    .python_definition =
        "def avg_pool_backward(grad, size, kernel, stride, padding, ceil_mode, count_include_pad, divisor):\n"
        "  if len(kernel) == 1:\n"
        "    return avg_pool_backward(grad.unsqueeze(-2), (1, *size), (1, *kernel), (1, *stride), (0, *padding), "
        "ceil_mode,\n"
        "                             count_include_pad, divisor).squeeze(-2)\n"
        "  x = grad.new_empty((*grad.shape[:-len(size)], *size))\n"
        "  backward = torch.ops.aten.avg_pool2d_backward if len(size) == 2 else torch.ops.aten.avg_pool3d_backward\n"
        "  return backward(grad, x, kernel, stride, padding, ceil_mode, count_include_pad, divisor)\n",
};

constinit const Symbol prims_adaptive_avg_pool_symbol{
    .signature = "prims.adaptive_avg_pool(Tensor input, int[] output_size) -> Tensor",
    .documentation = "The means of as many nearly equal windows as asked for.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          require_floating(a[0].tensor());
          out.push_back(like(a[0].tensor(), resized_shape(a[0].tensor(), a[1])));
        },
    .gradient =
        [](Gradient& g) {
          const Shape sizes = last_sizes(g.tensor(0).shape(), g.argument(1).integers().size());
          g.set(0, prims::adaptive_avg_pool_backward(g.cotangent(), sizes));
        },
    .python = "adaptive_avg_pool({0}, {1})",
    .python_definition =
        "def adaptive_avg_pool(x, size):\n"
        "  pools = [torch.nn.functional.adaptive_avg_pool1d, torch.nn.functional.adaptive_avg_pool2d, "
        "torch.nn.functional.adaptive_avg_pool3d]\n"
        "  return pools[len(size) - 1](x, size if len(size) > 1 else size[0])\n",
};

constinit const Symbol prims_adaptive_avg_pool_backward_symbol{
    .signature = "prims.adaptive_avg_pool_backward(Tensor grad, int[] size) -> Tensor",
    .documentation =
        "Each number divided and spread over its window of an input of this size: the cotangent of "
        "prims.adaptive_avg_pool's input.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const Shape sizes = a[1].shape();
          const Tensor& grad = a[0].tensor();
          require(sizes.size() >= 1 && sizes.size() <= 3 && grad.ndim() > static_cast<int64_t>(sizes.size()),
                  "grad of shape ", grad.shape(), " has no ", sizes.size(), " spatial dimensions");
          require_floating(grad);
          const Shape shape = joined_sizes(leading_sizes(grad.shape(), sizes.size()), sizes);
          check_elements(shape, sizes.size());
          out.push_back(like(grad, shape));
        },
    .gradient =
        [](Gradient& g) {
          const Shape sizes = last_sizes(g.tensor(0).shape(), g.argument(1).integers().size());
          g.set(0, prims::adaptive_avg_pool(g.cotangent(), sizes));
        },
    .python = "adaptive_avg_pool_backward({0}, {1})",
    .python_definition =
        "def adaptive_avg_pool_backward(grad, size):\n"
        "  if len(size) == 1:\n"
        "    return adaptive_avg_pool_backward(grad.unsqueeze(-2), (1, *size)).squeeze(-2)\n"
        "  x = grad.new_empty((*grad.shape[:-len(size)], *size))\n"
        "  aten = torch.ops.aten\n"
        "  return aten._adaptive_avg_pool2d_backward(grad, x) if len(size) == 2 else "
        "aten._adaptive_avg_pool3d_backward(grad, x)\n",
};

SymbolList pooling_symbols() {
  static constexpr const Symbol* list[] = {
      &prims_max_pool_symbol,          &prims_adaptive_max_pool_symbol, &prims_avg_pool_symbol,
      &prims_avg_pool_backward_symbol, &prims_adaptive_avg_pool_symbol, &prims_adaptive_avg_pool_backward_symbol,
  };
  return list;
}

}  // namespace fulgurite
