// Convolutions, and the cotangents of their weights. The cotangents of a convolution are convolutions too.
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/generated/symbols.h"
#include "ops/linalg/operation_counts.h"
#include "ops/nn/window_rules.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {
namespace {

/// prims.convolution's numbers: one per spatial dimension, except the groups.
struct Settings {
  Shape stride, padding, dilation;
  bool transposed;
  Shape output_padding;
  Int groups;
};

Settings settings_of(Arguments a, size_t count) {
  return {for_dimensions(a[3].integers(), count, "stride"),         for_dimensions(a[4].integers(), count, "padding"),
          for_dimensions(a[5].integers(), count, "dilation"),       a[6].boolean(),
          for_dimensions(a[7].integers(), count, "output_padding"), a[8].integer()};
}

void check_settings(const Settings& s) {
  require_at_least(s.stride, 1, "stride");
  require_at_least(s.padding, 0, "padding");
  require_at_least(s.dilation, 1, "dilation");
  require_at_least(s.output_padding, 0, "output_padding");
  require(s.groups >= 1, "groups must be positive, got ", s.groups.hint());
  if (!s.transposed) return;
  for (size_t d = 0; d < s.stride.size(); ++d)
    require(s.output_padding[d] < s.stride[d] || s.output_padding[d] < s.dilation[d], "output_padding ",
            s.output_padding, " must be smaller than the stride ", s.stride, " or the dilation ", s.dilation);
}

/// For transposed convolutions, the result's size along a dimension without output padding; otherwise the smallest
/// input size that has `count` windows.
Int covered(Int count, Int kernel, Int stride, Int padding, Int dilation) {
  return (count - 1) * stride - 2 * padding + dilation * (kernel - 1) + 1;
}

void check_operands(const Tensor& x, const Tensor& weight, const Tensor& bias, const Settings& s) {
  require(x.dtype() != Dtype::boolean, "not defined for booleans");
  require(x.dtype() == weight.dtype(), "input is ", x.dtype(), ", weight is ", weight.dtype());
  const Int groups = s.groups, rows = weight.size(0);
  require(rows >= groups && rows % groups == 0, "the ", rows.hint(),
          " rows of weight are not a multiple of groups = ", groups.hint());
  const Int expected = s.transposed ? rows : weight.size(1) * groups;
  require(x.size(1) == expected, "input of shape ", x.shape(), " has ", x.size(1).hint(), " channels, weight of shape ",
          weight.shape(), " takes ", expected.hint());
  if (!bias.defined()) return;
  const Int channels = s.transposed ? weight.size(1) * groups : rows;
  require(bias.ndim() == 1 && bias.size(0) == channels, "bias must have shape [", channels.hint(), "], got ",
          bias.shape());
  require(bias.dtype() == x.dtype(), "input is ", x.dtype(), ", bias is ", bias.dtype());
}

void infer_convolution(Arguments a, InferredTypes& out) {
  const Tensor &x = a[0].tensor(), &weight = a[1].tensor();
  require(weight.ndim() >= 3 && weight.ndim() <= 5, "weight must have 3 to 5 dimensions, got shape ", weight.shape());
  require(x.ndim() == weight.ndim(), "input of shape ", x.shape(), " and weight of shape ", weight.shape(),
          " have different numbers of dimensions");
  const auto count = static_cast<size_t>(weight.ndim() - 2);
  const Settings s = settings_of(a, count);
  check_settings(s);
  check_operands(x, weight, a[2].tensor_or_none(), s);
  const Shape sizes = last_sizes(x.shape(), count), kernel = last_sizes(weight.shape(), count);
  require_at_least(kernel, 1, "the kernel's size");
  for (const Int size : sizes)
    require(size > 0, "input may be empty in the batch and the channels alone, got shape ", x.shape());
  Shape shape{x.size(0), s.transposed ? weight.size(1) * s.groups : weight.size(0)};
  if (!s.transposed) {
    shape = joined_sizes(shape, window_counts(sizes, {kernel, s.stride, s.padding, s.dilation}, false));
  } else {
    for (size_t d = 0; d < count; ++d) {
      const Int size = covered(sizes[d], kernel[d], s.stride[d], s.padding[d], s.dilation[d]) + s.output_padding[d];
      require(size > 0, "the result of an input of size ", sizes, " with kernel ", kernel, " would be empty");
      shape.push_back(size);
    }
  }
  out.push_back(like(x, shape));
}

/// The first `sizes` elements along the last dimensions; x itself if it has these sizes.
Tensor narrowed(Tensor x, const Shape& sizes, SourceLocation at = {}) {
  const int64_t first = x.ndim() - static_cast<int64_t>(sizes.size());
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t dim = first + static_cast<int64_t>(d);
    if (x.size(static_cast<int>(dim)) != sizes[d]) x = narrow(x, dim, 0, sizes[d], at);
  }
  return x;
}

/// The convolution whose windows cover `sizes` as counted for g: the cotangent of an input of these sizes.
Tensor spread_over(const Shape& sizes, const Tensor& g, const Tensor& weight, const Settings& s) {
  const Shape counts = last_sizes(g.shape(), sizes.size()), kernel = last_sizes(weight.shape(), sizes.size());
  Shape rest;
  for (size_t d = 0; d < sizes.size(); ++d)
    rest.push_back(sizes[d] - covered(counts[d], kernel[d], s.stride[d], s.padding[d], s.dilation[d]));
  return prims::convolution(g, weight, {}, s.stride, s.padding, s.dilation, true, rest, s.groups);
}

/// The convolution of an input that has at least `counts` windows.
Tensor gathered(const Shape& counts, const Tensor& x, const Tensor& weight, const Settings& s) {
  Shape none;
  none.resize(counts.size(), 0);
  const Tensor y = prims::convolution(x, weight, {}, s.stride, s.padding, s.dilation, false, none, s.groups);
  return narrowed(y, counts);
}

void gradient_of_convolution(Gradient& g) {
  const Tensor x = g.tensor(0), weight = g.tensor(1), cotangent = g.cotangent();
  const auto count = static_cast<size_t>(weight.ndim() - 2);
  const Settings s = settings_of(g.arguments(), count);
  const Shape sizes = last_sizes(x.shape(), count);
  if (g.needs(0))
    g.set(0, s.transposed ? gathered(sizes, cotangent, weight, s) : spread_over(sizes, cotangent, weight, s));
  if (g.needs(1)) {
    const Shape kernel = last_sizes(weight.shape(), count);
    const Tensor &windows = s.transposed ? cotangent : x, &counted = s.transposed ? x : cotangent;
    g.set(1, prims::convolution_weight(counted, windows, kernel, s.stride, s.padding, s.dilation, s.groups));
  }
  if (g.argument(2).is_tensor() && g.needs(2)) {
    Dims others(0);
    for (size_t d = 0; d < count; ++d) others.push_back(static_cast<int64_t>(d) + 2);
    g.set(2, sum(cotangent, others));
  }
}

// prims.convolution_weight

struct WeightSettings {
  Shape kernel;
  Settings settings;
};
WeightSettings weight_settings(Arguments a) {
  const auto count = static_cast<size_t>(a[1].tensor().ndim() - 2);
  Shape none;
  none.resize(count, 0);
  return {for_dimensions(a[2].integers(), count, "kernel_size"),
          {for_dimensions(a[3].integers(), count, "stride"), for_dimensions(a[4].integers(), count, "padding"),
           for_dimensions(a[5].integers(), count, "dilation"), false, none, a[6].integer()}};
}

void infer_convolution_weight(Arguments a, InferredTypes& out) {
  const Tensor &grad = a[0].tensor(), &x = a[1].tensor();
  require(x.ndim() >= 3 && x.ndim() <= 5 && grad.ndim() == x.ndim(),
          "grad and input must have the same 3 to 5 dimensions, got ", grad.shape(), " and ", x.shape());
  require(grad.dtype() == x.dtype(), "grad is ", grad.dtype(), ", input is ", x.dtype());
  require(x.dtype() != Dtype::boolean, "not defined for booleans");
  const WeightSettings w = weight_settings(a);
  check_settings(w.settings);
  require_at_least(w.kernel, 1, "kernel_size");
  const Int groups = w.settings.groups;
  require(grad.size(0) == x.size(0) && grad.size(1) > 0 && grad.size(1) % groups == 0 && x.size(1) % groups == 0,
          "grad of shape ", grad.shape(), " and input of shape ", x.shape(), " do not belong to one convolution of ",
          groups.hint(), " groups");
  for (size_t d = 0; d < w.kernel.size(); ++d) {
    const int dim = static_cast<int>(d) + 2;
    const Settings& s = w.settings;
    const Int rest = x.size(dim) - covered(grad.size(dim), w.kernel[d], s.stride[d], s.padding[d], s.dilation[d]);
    require(grad.size(dim) > 0 && rest >= 0 && (rest < s.stride[d] || rest < s.dilation[d]), "grad of shape ",
            grad.shape(), " does not have the windows of an input of shape ", x.shape());
  }
  out.push_back(like(x, joined_sizes({grad.size(1), x.size(1) / groups}, w.kernel)));
}

void gradient_of_convolution_weight(Gradient& g) {
  const Tensor grad = g.tensor(0), x = g.tensor(1), cotangent = g.cotangent();
  const auto [kernel, s] = weight_settings(g.arguments());
  if (g.needs(0)) g.set(0, gathered(last_sizes(grad.shape(), kernel.size()), x, cotangent, s));
  if (g.needs(1)) g.set(1, spread_over(last_sizes(x.shape(), kernel.size()), grad, cotangent, s));
}

// The convolutions of torch.nn.functional.

template <int count>
void check_dimensions(const Tensor& x, const Tensor& weight) {
  require(weight.ndim() == count + 2, "weight must have ", count + 2, " dimensions, got shape ", weight.shape());
  require(x.ndim() == count + 1 || x.ndim() == count + 2, "input must have ", count + 1, " or, with a batch, ",
          count + 2, " dimensions, got shape ", x.shape());
}

/// prims.convolution of an input with an optional batch.
void convolve(const Tensor& x, Arguments a, const Settings& s, Results& out, SourceLocation at) {
  const Tensor &weight = a[1].tensor(), &bias = a[2].tensor_or_none();
  const bool is_batch = x.ndim() == weight.ndim();
  const Tensor batch = is_batch ? x : unsqueeze(x, 0, at);
  const Tensor y = prims::convolution(batch, weight, bias, s.stride, s.padding, s.dilation, s.transposed,
                                      s.output_padding, s.groups, at);
  out.push_back(is_batch ? y : squeeze(y, 0, at));
}

/// Pads for "same"; an odd excess is padded onto x, so that the remaining padding is symmetric.
Tensor pad_to_same(const Tensor& x, const Shape& kernel, Settings& s, SourceLocation at) {
  Dims before, after;
  before.resize(x.ndim(), 0);
  after.resize(x.ndim(), 0);
  bool is_odd = false;
  for (size_t d = 0; d < kernel.size(); ++d) {
    require(s.stride[d] == 1, "padding=\"same\" needs a stride of 1, got ", s.stride);
    const Int total = s.dilation[d] * (kernel[d] - 1);
    s.padding[d] = total / 2;
    after[x.ndim() - kernel.size() + d] = total % 2;
    is_odd = is_odd || total % 2 != 0;
  }
  return is_odd ? prims::pad(x, before, after, 0.0, at) : x;
}

template <int count>
void decompose_conv(Arguments a, Results& out, SourceLocation at) {
  const Tensor &x = a[0].tensor(), &weight = a[1].tensor();
  check_dimensions<count>(x, weight);
  Shape none;
  none.resize(count, 0);
  Settings s{for_dimensions(a[3].integers(), count, "stride"),
             none,
             for_dimensions(a[5].integers(), count, "dilation"),
             false,
             none,
             a[6].integer()};
  if (!a[4].is_string()) {
    s.padding = for_dimensions(a[4].integers(), count, "padding");
    return convolve(x, a, s, out, at);
  }
  const std::string_view name = a[4].string();
  require(name == "same" || name == "valid", "padding must be numbers, \"same\" or \"valid\", got \"", name, "\"");
  check_settings(s);
  convolve(name == "same" ? pad_to_same(x, last_sizes(weight.shape(), count), s, at) : x, a, s, out, at);
}

template <int count>
void decompose_conv_transpose(Arguments a, Results& out, SourceLocation at) {
  check_dimensions<count>(a[0].tensor(), a[1].tensor());
  convolve(a[0].tensor(), a,
           {for_dimensions(a[3].integers(), count, "stride"), for_dimensions(a[4].integers(), count, "padding"),
            for_dimensions(a[7].integers(), count, "dilation"), true,
            for_dimensions(a[5].integers(), count, "output_padding"), a[6].integer()},
           out, at);
}

}  // namespace

constinit const Symbol prims_convolution_symbol{
    .signature =
        "prims.convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, "
        "bool transposed, int[] output_padding, int groups) -> Tensor",
    .documentation =
        "Each window of the input [batch, channels, sizes…] times the weight [rows, channels / groups, kernel…], "
        "summed; transposed, the map whose matrix is the transposed one.",
    .infer = infer_convolution,
    .gradient = gradient_of_convolution,
    .cost = count_convolution,
    .python = "torch.convolution({0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8})",
    .traits = {.matmul = true},
};

constinit const Symbol prims_convolution_weight_symbol{
    .signature =
        "prims.convolution_weight(Tensor grad, Tensor input, int[] kernel_size, int[] stride, int[] padding, int[] "
        "dilation, int groups) -> Tensor",
    .documentation =
        "The cotangent of a convolution's weight from those of its result: what each number of the kernel was "
        "multiplied by.",
    .infer = infer_convolution_weight,
    .gradient = gradient_of_convolution_weight,
    .cost = count_convolution_weight,
    .python = "convolution_weight({0}, {1}, {2}, {3}, {4}, {5}, {6})",
    .python_definition =
        "def convolution_weight(grad, x, kernel, stride, padding, dilation, groups):\n"
        "  weight = x.new_empty((grad.shape[1], x.shape[1] // groups, *kernel))\n"
        "  return torch.ops.aten.convolution_backward(grad, x, weight, None, stride, padding, dilation, False,\n"
        "                                             [0] * len(kernel), groups, [False, True, False])[1]\n",
    .traits = {.matmul = true},
};

constinit const Symbol conv1d_symbol{
    .signature =
        "torch.nn.functional.conv1d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, Padding padding=0, "
        "int[] dilation=1, int groups=1) -> Tensor",
    .documentation =
        "Convolution of sequences [batch, channels, length], the batch left out or not; padding may be \"same\" or "
        "\"valid\".",
    .decompose = decompose_conv<1>,
    .semantics = {.autocast = AutocastPolicy::narrow},
};

constinit const Symbol conv2d_symbol{
    .signature =
        "torch.nn.functional.conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, Padding padding=0, "
        "int[] dilation=1, int groups=1) -> Tensor",
    .documentation =
        "Convolution of images [batch, channels, height, width], the batch left out or not; padding may be \"same\" "
        "or \"valid\".",
    .decompose = decompose_conv<2>,
    .semantics = {.autocast = AutocastPolicy::narrow},
};

constinit const Symbol conv3d_symbol{
    .signature =
        "torch.nn.functional.conv3d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, Padding padding=0, "
        "int[] dilation=1, int groups=1) -> Tensor",
    .documentation =
        "Convolution of volumes [batch, channels, depth, height, width], the batch left out or not; padding may be "
        "\"same\" or \"valid\".",
    .decompose = decompose_conv<3>,
    .semantics = {.autocast = AutocastPolicy::narrow},
};

constinit const Symbol conv_transpose1d_symbol{
    .signature =
        "torch.nn.functional.conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] "
        "padding=0, int[] output_padding=0, int groups=1, int[] dilation=1) -> Tensor",
    .documentation = "The transposed map of conv1d: each number of the input spreads a kernel over the result.",
    .decompose = decompose_conv_transpose<1>,
    .semantics = {.autocast = AutocastPolicy::narrow},
};

constinit const Symbol conv_transpose2d_symbol{
    .signature =
        "torch.nn.functional.conv_transpose2d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] "
        "padding=0, int[] output_padding=0, int groups=1, int[] dilation=1) -> Tensor",
    .documentation = "The transposed map of conv2d: each number of the input spreads a kernel over the result.",
    .decompose = decompose_conv_transpose<2>,
    .semantics = {.autocast = AutocastPolicy::narrow},
};

constinit const Symbol conv_transpose3d_symbol{
    .signature =
        "torch.nn.functional.conv_transpose3d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] "
        "padding=0, int[] output_padding=0, int groups=1, int[] dilation=1) -> Tensor",
    .documentation = "The transposed map of conv3d: each number of the input spreads a kernel over the result.",
    .decompose = decompose_conv_transpose<3>,
    .semantics = {.autocast = AutocastPolicy::narrow},
};

SymbolList convolution_symbols() {
  static constexpr const Symbol* list[] = {
      &prims_convolution_symbol,
      &prims_convolution_weight_symbol,
      &conv1d_symbol,
      &conv2d_symbol,
      &conv3d_symbol,
      &conv_transpose1d_symbol,
      &conv_transpose2d_symbol,
      &conv_transpose3d_symbol,
  };
  return list;
}

}  // namespace fulgurite
