// Operators that concatenate, pad or copy tensors.
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/elementwise/pointwise_rules.h"
#include "ops/generated/symbols.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {
namespace {

/// PyTorch's cat ignores empty one-dimensional tensors beside tensors of other shapes.
bool is_ignored(const Tensor& x) { return x.ndim() == 1 && x.size(0) == 0; }

/// The first tensor that cat does not ignore; its dimensions are the result's.
const Tensor& leading(std::span<const Tensor> tensors) {
  require(!tensors.empty(), "expected at least one tensor");
  for (const Tensor& x : tensors) {
    require(x.defined(), "a tensor of the list is not defined");
    if (!is_ignored(x)) return x;
  }
  return tensors.front();
}

TensorType joined_type(std::span<const Tensor> tensors, Int given_dim) {
  const Tensor& first = leading(tensors);
  require(first.ndim() > 0, "tensors without dimensions cannot be concatenated");
  const int64_t dim = normalize_dim(given_dim, first.ndim());
  TensorType type = like(first, first.shape());
  const bool first_is_ignored = is_ignored(first);
  Int total = 0;
  for (const Tensor& x : tensors) {
    type.dtype = promote_types(type.dtype, x.dtype());
    require(x.device() == type.device, "tensors are on different devices: ", type.device.name(), " and ",
            x.device().name());
    if (!first_is_ignored && is_ignored(x)) continue;
    const Shape shape = x.shape();
    require(shape.size() == type.shape.size(), "tensors of ", type.shape.size(), " and ", shape.size(),
            " dimensions: ", first.shape(), " and ", shape);
    for (size_t d = 0; d < shape.size(); ++d)
      if (static_cast<int64_t>(d) != dim)
        require(shape[d] == type.shape[d], "sizes differ in dimension ", d, ": ", first.shape(), " and ", shape);
    total = total + shape[dim];
  }
  type.shape[dim] = total;
  return type;
}

/// `input` with `low` and `high` elements (negative: fewer) of its own added along `dim`.
Tensor pad_from_itself(const Tensor& input, int64_t dim, Int low, Int high, std::string_view mode, SourceLocation at) {
  const Int size = input.size(static_cast<int>(dim));
  std::vector<Tensor> parts;
  const auto repeat_edge = [&](Int index, Int count) {
    Shape shape = input.shape();
    shape[dim] = count;
    const Tensor edge = narrow(input, dim, index, 1, at);
    return expand(edge, shape, at);
  };
  const auto chunk = [&](Int start, Int count, bool flipped) {
    const Tensor part = narrow(input, dim, start, count, at);
    return flipped ? flip(part, Dims(dim), at) : part;
  };
  if (mode == "reflect")
    require(low < size && high < size, "reflect padding must be smaller than the dimension's size ", size.hint());
  if (mode == "circular")
    require(low <= size && high <= size, "circular padding exceeds the dimension's size ", size.hint());
  if (low > 0) {
    if (mode == "replicate") parts.push_back(repeat_edge(0, low));
    else parts.push_back(mode == "reflect" ? chunk(1, low, true) : chunk(size - low, low, false));
  }
  const Int first = low < 0 ? -low : Int(0), dropped = high < 0 ? -high : Int(0);
  const bool whole = first == 0 && dropped == 0;
  parts.push_back(whole ? input : narrow(input, dim, first, size - first - dropped, at));
  if (high > 0) {
    if (mode == "replicate") parts.push_back(repeat_edge(size - 1, high));
    else parts.push_back(mode == "reflect" ? chunk(size - high - 1, high, true) : chunk(0, high, false));
  }
  return parts.size() == 1 ? parts[0] : cat(parts, dim, at);
}

/// Constant padding with Python's pairs, last dimension first; negative numbers cut.
Tensor pad_constant(Tensor input, std::span<const Int> pairs, Float value, SourceLocation at) {
  const int64_t ndim = input.ndim();
  Dims low, high;
  low.resize(ndim, 0);
  high.resize(ndim, 0);
  bool any = false;
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const int64_t dim = ndim - 1 - static_cast<int64_t>(i / 2);
    const Int before = pairs[i], after = pairs[i + 1];
    const Int cut_before = before < 0 ? -before : Int(0), cut_after = after < 0 ? -after : Int(0);
    if (cut_before > 0 || cut_after > 0) {
      const Int left = input.size(static_cast<int>(dim)) - cut_before - cut_after;
      require(left >= 0, "the padding ", Shape(pairs.data(), pairs.size()), " cuts away more than dimension ", dim,
              " has");
      input = narrow(input, dim, cut_before, left, at);
    }
    low[dim] = before < 0 ? Int(0) : before;
    high[dim] = after < 0 ? Int(0) : after;
    any = any || low[dim] > 0 || high[dim] > 0;
  }
  if (any) return prims::pad(input, low, high, value, at);
  return clone(input, at);
}

}  // namespace

constinit const Symbol cat_symbol{
    .signature = "torch.cat(Tensor[] tensors, int dim=0) -> Tensor",
    .documentation = "Joins tensors along a dimension they have.",
    .infer = [](Arguments a, InferredTypes& out) { out.push_back(joined_type(a[0].tensors(), a[1].integer())); },
    .gradient =
        [](Gradient& g) {
          const auto tensors = g.argument(0).tensors();
          const Tensor& first = leading(tensors);
          const bool first_is_ignored = is_ignored(first);
          const int64_t dim = normalize_dim(g.argument(1).integer(), first.ndim());
          Int start = 0;
          for (size_t i = 0; i < tensors.size(); ++i) {
            if (!first_is_ignored && is_ignored(tensors[i])) continue;
            const Int length = tensors[i].size(static_cast<int>(dim));
            if (g.needs(0, i)) g.set(0, i, narrow(g.cotangent(), dim, start, length));
            start = start + length;
          }
        },
    .semantics = {.autocast = AutocastPolicy::widest, .concatenation = true},
};

constinit const Symbol stack_symbol{
    .signature = "torch.stack(Tensor[] tensors, int dim=0) -> Tensor",
    .documentation = "Joins tensors of one shape along a new dimension.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const auto tensors = a[0].tensors();
          require(!tensors.empty(), "expected at least one tensor");
          const Shape shape = tensors[0].shape();
          const int64_t dim = normalize_dim(a[1].integer(), tensors[0].ndim() + 1);
          std::vector<Tensor> layers;
          for (const Tensor& x : tensors) {
            const Shape other = x.shape();
            require(other == shape, "the tensors' shapes differ: ", shape, " and ", other);
            layers.push_back(unsqueeze(x, dim, at));
          }
          out.push_back(cat(layers, dim, at));
        },
    .semantics = {.autocast = AutocastPolicy::widest},
};

constinit const Symbol clone_symbol{
    .signature = "torch.clone(Tensor input) -> Tensor",
    .documentation = "A copy.",
    .infer = [](Arguments a, InferredTypes& out) { out.push_back(like(a[0].tensor(), a[0].tensor().shape())); },
    .gradient = [](Gradient& g) { g.set(0, g.cotangent()); },
    .semantics = {.linearity = Linearity::first, .copy = true},
};

constinit const Symbol prims_pad_symbol{
    .signature = "prims.pad(Tensor input, int[] low, int[] high, float value) -> Tensor",
    .documentation = "The tensor with `low` elements of a value before and `high` after it, in each dimension.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const Tensor& input = a[0].tensor();
          Shape shape = input.shape();
          const auto low = a[1].integers(), high = a[2].integers();
          require(low.size() == shape.size() && high.size() == shape.size(), "low and high must have ", shape.size(),
                  " numbers, got ", a[1].shape(), " and ", a[2].shape());
          for (size_t d = 0; d < shape.size(); ++d) {
            require(low[d] >= 0 && high[d] >= 0, "padding is negative: ", a[1].shape(), " and ", a[2].shape());
            shape[d] = shape[d] + low[d] + high[d];
          }
          out.push_back(like(input, shape));
          require_fits("value", a[3], input.dtype());
        },
    .gradient =
        [](Gradient& g) {
          const auto low = g.argument(1).integers(), high = g.argument(2).integers();
          const Shape shape = g.tensor(0).shape();
          Tensor inner = g.cotangent();
          for (size_t d = 0; d < shape.size(); ++d) {
            const bool padded =
                low[d].is_symbolic() || high[d].is_symbolic() || low[d].hint() != 0 || high[d].hint() != 0;
            if (padded) inner = narrow(inner, static_cast<int64_t>(d), low[d], shape[d]);
          }
          g.set(0, inner);
        },
    .python = "pad({0}, {1}, {2}, {3})",
    .python_definition =
        "def pad(x, low, high, value):\n"
        "  widths = [w for pair in zip(reversed(low), reversed(high)) for w in pair]\n"
        "  return torch.nn.functional.pad(x, widths, value=value) if widths else x.clone()\n",
};

constinit const Symbol pad_symbol{
    .signature = "torch.nn.functional.pad(Tensor input, int[] pad, str mode='constant', float? value=None) -> Tensor",
    .documentation =
        "Pads with pairs of widths, last dimension first; modes constant, reflect, replicate, circular. "
        "Negative widths cut.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& input = a[0].tensor();
          const auto pairs = a[1].integers();
          const std::string_view mode = a[2].string();
          require(pairs.size() % 2 == 0, "pad must have an even number of widths, got ", a[1].shape());
          require(static_cast<int64_t>(pairs.size() / 2) <= input.ndim(), "pad has ", pairs.size() / 2, " pairs for ",
                  input.ndim(), " dimensions");
          if (mode == "constant") {
            out.push_back(pad_constant(input, pairs, a[3].is_none() ? Float(0.0) : a[3].floating(), at));
            return;
          }
          require(mode == "reflect" || mode == "replicate" || mode == "circular",
                  "mode must be \"constant\", \"reflect\", \"replicate\" or \"circular\", got \"", mode, "\"");
          require(a[3].is_none() || a[3].floating() == 0.0, "mode \"", mode, "\" takes no value");
          Tensor padded = input;
          bool is_copy = false;  // what is only cut would be a view
          for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
            const int64_t dim = input.ndim() - 1 - static_cast<int64_t>(i / 2);
            padded = pad_from_itself(padded, dim, pairs[i], pairs[i + 1], mode, at);
            is_copy = is_copy || pairs[i] > 0 || pairs[i + 1] > 0;
          }
          out.push_back(is_copy ? padded : clone(padded, at));
        },
};

constinit const Symbol constant_pad_nd_symbol{
    .signature = "torch.constant_pad_nd(Tensor input, int[] pad, Operand value=0) -> Tensor",
    .documentation = "Pads with a value and pairs of widths, last dimension first; negative widths cut.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          out.push_back(nn::pad(a[0].tensor(), a[1].shape(), "constant", a[2].floating(), at));
        },
};

std::span<const Symbol* const> joining_symbols() {
  static constexpr const Symbol* all[] = {&cat_symbol,       &stack_symbol, &clone_symbol,
                                          &prims_pad_symbol, &pad_symbol,   &constant_pad_nd_symbol};
  return all;
}

}  // namespace fulgurite
