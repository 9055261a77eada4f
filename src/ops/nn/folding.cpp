// Sliding windows as views and as columns, and the sums that invert them.
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/core/precision.h"
#include "ops/generated/symbols.h"
#include "ops/nn/window_rules.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {
namespace {

/// first + step * (0, 1, …, count - 1), as i64.
Tensor positions(Int count, Int step, Device device, SourceLocation at) {
  const Tensor numbers = arange(0, count, 1, {.dtype = Dtype::i64, .device = device}, at);
  return mul(numbers, step, at);
}

/// unfold's and fold's numbers for the two spatial dimensions.
Windows two_windows(const Argument& kernel, const Argument& dilation, const Argument& padding, const Argument& stride) {
  Windows w{for_dimensions(kernel.integers(), 2, "kernel_size"), for_dimensions(stride.integers(), 2, "stride"),
            for_dimensions(padding.integers(), 2, "padding"), for_dimensions(dilation.integers(), 2, "dilation")};
  require_at_least(w.kernel, 1, "kernel_size");
  require_at_least(w.stride, 1, "stride");
  require_at_least(w.padding, 0, "padding");
  require_at_least(w.dilation, 1, "dilation");
  return w;
}

/// Pads the last two dimensions with zeros on both sides.
Tensor padded(const Tensor& x, const Shape& padding, SourceLocation at) {
  if (padding[0] == 0 && padding[1] == 0) return x;
  Dims widths;
  widths.resize(x.ndim(), 0);
  for (size_t d = 0; d < 2; ++d) widths[x.ndim() - 2 + d] = padding[d];
  return prims::pad(x, widths, widths, 0.0, at);
}

void decompose_unfold(Arguments a, Results& out, SourceLocation at) {
  const Tensor& x = a[0].tensor();
  require(x.ndim() == 3 || x.ndim() == 4, "input must have 3 or, with a batch, 4 dimensions, got shape ", x.shape());
  const Windows w = two_windows(a[1], a[2], a[3], a[4]);
  const Shape counts = window_counts(last_sizes(x.shape(), 2), w, false);
  Tensor windows = padded(x, w.padding, at);
  const int64_t first = x.ndim() - 2;
  for (int64_t d = 0; d < 2; ++d) {
    const Tensor slid = unfold(windows, first + d, w.dilation[d] * (w.kernel[d] - 1) + 1, w.stride[d], at);
    windows =
        w.dilation[d] == 1 ? slid : prims::slice(slid, x.ndim() + d, std::nullopt, std::nullopt, w.dilation[d], at);
  }
  Dims order;
  for (int64_t d = 0; d < first; ++d) order.push_back(d);
  for (const int64_t d : {first + 2, first + 3, first, first + 1}) order.push_back(d);
  const Tensor ordered = clone(permute(windows, order, at), at);
  Shape shape = leading_sizes(x.shape(), 2);
  shape.back() = shape.back() * w.kernel.numel();
  shape.push_back(counts.numel());
  out.push_back(reshape(ordered, shape, at));
}

void infer_fold(Arguments a, InferredTypes& types) {
  const Tensor& given = a[0].tensor();
  require(given.ndim() == 2 || given.ndim() == 3, "input must have 2 or, with a batch, 3 dimensions, got shape ",
          given.shape());
  const Shape sizes = for_dimensions(a[1].integers(), 2, "output_size");
  const Windows w = two_windows(a[2], a[3], a[4], a[5]);
  const Shape counts = window_counts(sizes, w, false);
  const Int rows = given.size(-2), elements = w.kernel.numel();
  require(rows % elements == 0, "the ", rows.hint(), " rows are not a multiple of the kernel's ", elements.hint(),
          " elements");
  require(given.size(-1) == counts.numel(), "input has ", given.size(-1).hint(), " columns, there are ",
          counts[0].hint(), " * ", counts[1].hint(), " windows");
  Shape leading = leading_sizes(given.shape(), 1);
  leading.back() = rows / elements;
  types.push_back(like(given, joined_sizes(leading, sizes)));
}

void decompose_fold(Arguments a, Results& out, SourceLocation at) {
  InferredTypes types;
  infer_fold(a, types);
  const Tensor& given = a[0].tensor();
  const Shape sizes = for_dimensions(a[1].integers(), 2, "output_size");
  const Windows w = two_windows(a[2], a[3], a[4], a[5]);
  const Shape counts = window_counts(sizes, w, false);
  const Tensor x = as_dtype(given, compute_dtype(given.dtype()), at);
  Shape leading = leading_sizes(x.shape(), 1);
  leading.back() = given.size(-2) / w.kernel.numel();
  const Tensor windows = reshape(x, joined_sizes(leading, {w.kernel[0], w.kernel[1], counts[0], counts[1]}), at);
  // The index of kernel element [i, ·, m, ·]: i * dilation + m * stride, along each dimension.
  std::vector<Tensor> indices(leading.size());
  for (int64_t d = 0; d < 2; ++d) {
    const Tensor inner = positions(w.kernel[d], w.dilation[d], x.device(), at);
    const Tensor outer = positions(counts[d], w.stride[d], x.device(), at);
    const Tensor column = reshape(inner, {w.kernel[d], 1, 1}, at);
    const Tensor row = d == 0 ? reshape(outer, {counts[d], 1}, at) : outer;
    const Tensor place = add(column, row, 1, at);
    indices.push_back(d == 0 ? reshape(place, {w.kernel[0], 1, counts[0], 1}, at) : place);
  }
  const Shape padded_sizes{sizes[0] + 2 * w.padding[0], sizes[1] + 2 * w.padding[1]};
  const Tensor zero = zeros(joined_sizes(leading, padded_sizes), {.dtype = x.dtype(), .device = x.device()}, at);
  Tensor sums = prims::index_put(zero, indices, windows, true, at);
  for (int d = 0; d < 2; ++d) sums = narrow(sums, d - 2, w.padding[d], sizes[d], at);
  out.push_back(as_dtype(sums, given.dtype(), at));
}

constexpr std::string_view folding_python =
    "def windows(function, x, *sizes):\n"
    "  return function(x, *(n[0] if isinstance(n, tuple) and len(n) == 1 else n for n in sizes))\n";

}  // namespace

constinit const Symbol unfold_symbol{
    .signature =
        "torch.nn.functional.unfold(Tensor input, int[] kernel_size, int[] dilation=1, int[] padding=0, int[] "
        "stride=1) -> Tensor",
    .documentation = "The windows of images as columns: [batch, channels * kernel's elements, windows].",
    .decompose = decompose_unfold,
    .python = "windows(torch.nn.functional.unfold, {0}, {1}, {2}, {3}, {4})",
    .python_definition = folding_python,
};

constinit const Symbol fold_symbol{
    .signature =
        "torch.nn.functional.fold(Tensor input, int[] output_size, int[] kernel_size, int[] dilation=1, int[] "
        "padding=0, int[] stride=1) -> Tensor",
    .documentation = "The sums of columns that are windows of images of output_size.",
    .infer = infer_fold,
    .decompose = decompose_fold,
    .python = "windows(torch.nn.functional.fold, {0}, {1}, {2}, {3}, {4}, {5})",
    .python_definition = folding_python,
};

constinit const Symbol channel_shuffle_symbol{
    .signature = "torch.channel_shuffle(Tensor input, int groups) -> Tensor",
    .documentation = "The channels of groups by turns: channel i of group j becomes channel i * groups + j.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& x = a[0].tensor();
          const Int groups = a[1].integer();
          require(x.ndim() > 2, "needs at least 3 dimensions, got shape ", x.shape());
          require(groups > 0, "groups must be positive, not ", groups.hint());
          const Int channels = x.size(1);
          require(channels % groups == 0, "the ", channels.hint(),
                  " channels are not a multiple of groups = ", groups.hint());
          const Shape rest = last_sizes(x.shape(), x.ndim() - 2);
          const Tensor apart = reshape(x, joined_sizes({x.size(0), groups, channels / groups}, rest), at);
          const Tensor turned = clone(transpose(apart, 1, 2, at), at);
          out.push_back(reshape(turned, x.shape(), at));
        },
};

SymbolList folding_symbols() {
  static constexpr const Symbol* list[] = {&unfold_symbol, &fold_symbol, &channel_shuffle_symbol};
  return list;
}

}  // namespace fulgurite
