// The pooling functions of torch.nn.functional, in terms of the primitives.
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/generated/symbols.h"
#include "ops/nn/window_rules.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {
namespace {

template <int count>
void check_dimensions(const Tensor& x) {
  require(x.ndim() == count + 1 || x.ndim() == count + 2, "input must have ", count + 1, " or, with a batch, ",
          count + 2, " dimensions, got shape ", x.shape());
}

/// The kernel's size and the stride, which defaults to the kernel's size.
template <int count>
std::pair<Shape, Shape> kernel_and_stride(Arguments a) {
  const Shape kernel = for_dimensions(a[1].integers(), count, "kernel_size");
  return {kernel, a[2].integers().empty() ? kernel : for_dimensions(a[2].integers(), count, "stride")};
}

template <int count>
std::tuple<Tensor, Tensor> largest_of_windows(Arguments a, SourceLocation at) {
  check_dimensions<count>(a[0].tensor());
  const auto [kernel, stride] = kernel_and_stride<count>(a);
  const Shape padding = for_dimensions(a[3].integers(), count, "padding");
  const Shape dilation = for_dimensions(a[4].integers(), count, "dilation");
  return prims::max_pool(a[0].tensor(), kernel, stride, padding, dilation, a[5].boolean(), at);
}

template <int count>
void decompose_max_pool(Arguments a, Results& out, SourceLocation at) {
  out.push_back(std::get<0>(largest_of_windows<count>(a, at)));
}

template <int count>
void decompose_max_pool_with_indices(Arguments a, Results& out, SourceLocation at) {
  const auto [values, indices] = largest_of_windows<count>(a, at);
  out.push_back(values);
  out.push_back(indices);
}

template <int count>
void decompose_avg_pool(Arguments a, Results& out, SourceLocation at) {
  check_dimensions<count>(a[0].tensor());
  const auto [kernel, stride] = kernel_and_stride<count>(a);
  const Shape padding = for_dimensions(a[3].integers(), count, "padding");
  const std::optional<Int> divisor = count == 1 ? std::nullopt : a[6].optional_integer();
  out.push_back(prims::avg_pool(a[0].tensor(), kernel, stride, padding, a[4].boolean(), a[5].boolean(), divisor, at));
}

/// The requested sizes; -1 stands for the input's.
template <int count>
Shape adaptive_sizes(Arguments a) {
  const Tensor& x = a[0].tensor();
  check_dimensions<count>(x);
  Shape sizes = for_dimensions(a[1].integers(), count, "output_size");
  for (int d = 0; d < count; ++d)
    if (sizes[d] == -1) sizes[d] = x.size(static_cast<int>(x.ndim()) - count + d);
  require_at_least(sizes, 0, "output_size");
  return sizes;
}

template <int count>
void decompose_adaptive_avg_pool(Arguments a, Results& out, SourceLocation at) {
  const Tensor& x = a[0].tensor();
  const Shape sizes = adaptive_sizes<count>(a);
  bool is_mean = is_floating(x.dtype()) && x.numel() > 0;
  Dims dims;
  for (int d = 0; d < count; ++d) {
    is_mean = is_mean && sizes[d] == 1;
    dims.push_back(d - count);
  }
  out.push_back(is_mean ? mean(x, dims, true, {}, at) : prims::adaptive_avg_pool(x, sizes, at));
}

template <int count>
void decompose_adaptive_max_pool(Arguments a, Results& out, SourceLocation at) {
  out.push_back(std::get<0>(prims::adaptive_max_pool(a[0].tensor(), adaptive_sizes<count>(a), at)));
}

template <int count>
void decompose_adaptive_max_pool_with_indices(Arguments a, Results& out, SourceLocation at) {
  const auto [values, indices] = prims::adaptive_max_pool(a[0].tensor(), adaptive_sizes<count>(a), at);
  out.push_back(values);
  out.push_back(indices);
}

// Sizes may be None, and one size is not a tuple.
constexpr std::string_view adaptive_python =
    "def adaptive_pool(pool, x, size):\n"
    "  size = [None if n == -1 else n for n in size]\n"
    "  return pool(x, size[0] if len(size) == 1 else size)\n";

}  // namespace

constinit const Symbol max_pool1d_symbol{
    .signature =
        "torch.nn.functional.max_pool1d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] "
        "dilation=1, bool ceil_mode=False) -> Tensor",
    .documentation =
        "The largest element of each window of sequences; with return_indices see max_pool1d_with_indices.",
    .decompose = decompose_max_pool<1>,
};

constinit const Symbol max_pool1d_with_indices_symbol{
    .signature =
        "torch.nn.functional.max_pool1d_with_indices(Tensor input, int[] kernel_size, int[]? stride=None, int[] "
        "padding=0, int[] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
    .documentation = "The largest element of each window of sequences, and its number among the elements of a channel.",
    .decompose = decompose_max_pool_with_indices<1>,
};

constinit const Symbol max_pool2d_symbol{
    .signature =
        "torch.nn.functional.max_pool2d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] "
        "dilation=1, bool ceil_mode=False) -> Tensor",
    .documentation = "The largest element of each window of images; with return_indices see max_pool2d_with_indices.",
    .decompose = decompose_max_pool<2>,
};

constinit const Symbol max_pool2d_with_indices_symbol{
    .signature =
        "torch.nn.functional.max_pool2d_with_indices(Tensor input, int[] kernel_size, int[]? stride=None, int[] "
        "padding=0, int[] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
    .documentation = "The largest element of each window of images, and its number among the elements of a channel.",
    .decompose = decompose_max_pool_with_indices<2>,
};

constinit const Symbol max_pool3d_symbol{
    .signature =
        "torch.nn.functional.max_pool3d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] "
        "dilation=1, bool ceil_mode=False) -> Tensor",
    .documentation = "The largest element of each window of volumes; with return_indices see max_pool3d_with_indices.",
    .decompose = decompose_max_pool<3>,
    .semantics = {.autocast = AutocastPolicy::wide},
};

constinit const Symbol max_pool3d_with_indices_symbol{
    .signature =
        "torch.nn.functional.max_pool3d_with_indices(Tensor input, int[] kernel_size, int[]? stride=None, int[] "
        "padding=0, int[] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
    .documentation = "The largest element of each window of volumes, and its number among the elements of a channel.",
    .decompose = decompose_max_pool_with_indices<3>,
};

constinit const Symbol avg_pool1d_symbol{
    .signature =
        "torch.nn.functional.avg_pool1d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, "
        "bool ceil_mode=False, bool count_include_pad=True) -> Tensor",
    .documentation = "The mean of each window of sequences.",
    .decompose = decompose_avg_pool<1>,
};

constinit const Symbol avg_pool2d_symbol{
    .signature =
        "torch.nn.functional.avg_pool2d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, "
        "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
    .documentation = "The mean of each window of images.",
    .decompose = decompose_avg_pool<2>,
};

constinit const Symbol avg_pool3d_symbol{
    .signature =
        "torch.nn.functional.avg_pool3d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, "
        "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
    .documentation = "The mean of each window of volumes.",
    .decompose = decompose_avg_pool<3>,
    .semantics = {.autocast = AutocastPolicy::wide},
};

constinit const Symbol adaptive_avg_pool1d_symbol{
    .signature = "torch.nn.functional.adaptive_avg_pool1d(Tensor input, int[] output_size) -> Tensor",
    .documentation =
        "The means of as many nearly equal windows of sequences as asked for; -1 (in Python None) keeps a size.",
    .decompose = decompose_adaptive_avg_pool<1>,
    .python = "adaptive_pool(torch.nn.functional.adaptive_avg_pool1d, {0}, {1})",
    .python_definition = adaptive_python,
};

constinit const Symbol adaptive_max_pool1d_symbol{
    .signature = "torch.nn.functional.adaptive_max_pool1d(Tensor input, int[] output_size) -> Tensor",
    .documentation =
        "The largest elements of as many nearly equal windows of sequences as asked for; -1 (in Python None) keeps a "
        "size.",
    .decompose = decompose_adaptive_max_pool<1>,
    .python = "adaptive_pool(torch.nn.functional.adaptive_max_pool1d, {0}, {1})",
    .python_definition = adaptive_python,
};

constinit const Symbol adaptive_max_pool1d_with_indices_symbol{
    .signature =
        "torch.nn.functional.adaptive_max_pool1d_with_indices(Tensor input, int[] output_size) -> (Tensor, Tensor)",
    .documentation = "adaptive_max_pool1d, and the number of each largest element among the elements of a channel.",
    .decompose = decompose_adaptive_max_pool_with_indices<1>,
    .python = "adaptive_pool(torch.nn.functional.adaptive_max_pool1d_with_indices, {0}, {1})",
    .python_definition = adaptive_python,
};

constinit const Symbol adaptive_avg_pool2d_symbol{
    .signature = "torch.nn.functional.adaptive_avg_pool2d(Tensor input, int[] output_size) -> Tensor",
    .documentation =
        "The means of as many nearly equal windows of images as asked for; -1 (in Python None) keeps a size.",
    .decompose = decompose_adaptive_avg_pool<2>,
    .python = "adaptive_pool(torch.nn.functional.adaptive_avg_pool2d, {0}, {1})",
    .python_definition = adaptive_python,
};

constinit const Symbol adaptive_max_pool2d_symbol{
    .signature = "torch.nn.functional.adaptive_max_pool2d(Tensor input, int[] output_size) -> Tensor",
    .documentation =
        "The largest elements of as many nearly equal windows of images as asked for; -1 (in Python None) keeps a "
        "size.",
    .decompose = decompose_adaptive_max_pool<2>,
    .python = "adaptive_pool(torch.nn.functional.adaptive_max_pool2d, {0}, {1})",
    .python_definition = adaptive_python,
};

constinit const Symbol adaptive_max_pool2d_with_indices_symbol{
    .signature =
        "torch.nn.functional.adaptive_max_pool2d_with_indices(Tensor input, int[] output_size) -> (Tensor, Tensor)",
    .documentation = "adaptive_max_pool2d, and the number of each largest element among the elements of a channel.",
    .decompose = decompose_adaptive_max_pool_with_indices<2>,
    .python = "adaptive_pool(torch.nn.functional.adaptive_max_pool2d_with_indices, {0}, {1})",
    .python_definition = adaptive_python,
};

constinit const Symbol adaptive_avg_pool3d_symbol{
    .signature = "torch.nn.functional.adaptive_avg_pool3d(Tensor input, int[] output_size) -> Tensor",
    .documentation =
        "The means of as many nearly equal windows of volumes as asked for; -1 (in Python None) keeps a size.",
    .decompose = decompose_adaptive_avg_pool<3>,
    .python = "adaptive_pool(torch.nn.functional.adaptive_avg_pool3d, {0}, {1})",
    .python_definition = adaptive_python,
    .semantics = {.autocast = AutocastPolicy::wide},
};

constinit const Symbol adaptive_max_pool3d_symbol{
    .signature = "torch.nn.functional.adaptive_max_pool3d(Tensor input, int[] output_size) -> Tensor",
    .documentation =
        "The largest elements of as many nearly equal windows of volumes as asked for; -1 (in Python None) keeps a "
        "size.",
    .decompose = decompose_adaptive_max_pool<3>,
    .python = "adaptive_pool(torch.nn.functional.adaptive_max_pool3d, {0}, {1})",
    .python_definition = adaptive_python,
    .semantics = {.autocast = AutocastPolicy::wide},
};

constinit const Symbol adaptive_max_pool3d_with_indices_symbol{
    .signature =
        "torch.nn.functional.adaptive_max_pool3d_with_indices(Tensor input, int[] output_size) -> (Tensor, Tensor)",
    .documentation = "adaptive_max_pool3d, and the number of each largest element among the elements of a channel.",
    .decompose = decompose_adaptive_max_pool_with_indices<3>,
    .python = "adaptive_pool(torch.nn.functional.adaptive_max_pool3d_with_indices, {0}, {1})",
    .python_definition = adaptive_python,
};

SymbolList pooling_function_symbols() {
  static constexpr const Symbol* list[] = {
      &max_pool1d_symbol,
      &max_pool1d_with_indices_symbol,
      &max_pool2d_symbol,
      &max_pool2d_with_indices_symbol,
      &max_pool3d_symbol,
      &max_pool3d_with_indices_symbol,
      &avg_pool1d_symbol,
      &avg_pool2d_symbol,
      &avg_pool3d_symbol,
      &adaptive_avg_pool1d_symbol,
      &adaptive_max_pool1d_symbol,
      &adaptive_max_pool1d_with_indices_symbol,
      &adaptive_avg_pool2d_symbol,
      &adaptive_max_pool2d_symbol,
      &adaptive_max_pool2d_with_indices_symbol,
      &adaptive_avg_pool3d_symbol,
      &adaptive_max_pool3d_symbol,
      &adaptive_max_pool3d_with_indices_symbol,
  };
  return list;
}

}  // namespace fulgurite
