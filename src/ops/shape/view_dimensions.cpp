// Views with the dimensions in another order, more of them or fewer.
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/generated/symbols.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {
namespace {

/// The sizes of expand(input, wanted).
Shape expanded(const Shape& input, std::span<const Int> wanted) {
  const size_t added = wanted.size() - input.size();
  require(wanted.size() >= input.size(), "a tensor of shape ", input, " cannot be expanded to the fewer dimensions of ",
          Shape(wanted.data(), wanted.size()));
  Shape result(wanted.data(), wanted.size());
  for (size_t d = 0; d < wanted.size(); ++d) {
    const bool keeps = !wanted[d].is_symbolic() && wanted[d].hint() == -1;
    if (d < added) {
      require(!keeps, "-1 is not allowed for a new dimension, in ", result);
      require(may_be_size(wanted[d]), "a size is negative: ", result);
      continue;
    }
    const Int size = input[d - added];
    if (keeps) result[d] = size;
    else if (wanted[d].is_symbolic() && wanted[d].proxy() == size.proxy()) continue;
    else {
      const bool is_one = !size.is_symbolic() && size.hint() == 1;
      require(is_one || size == wanted[d] || size == 1, "a tensor of shape ", input, " cannot be expanded to ", result);
      require(may_be_size(wanted[d]), "a size is negative: ", result);
    }
  }
  if (!result.is_symbolic()) result.numel();  // fails if the number of elements overflows
  return result;
}

/// The dimensions that squeeze(input, dim) removes.
SmallVector<bool, 6> squeezed(const Shape& shape, const Argument& dims) {
  SmallVector<bool, 6> removed(shape.size());
  if (dims.is_none()) {
    for (size_t d = 0; d < shape.size(); ++d) removed[d] = shape[d] == 1;
    return removed;
  }
  for (const int64_t d : wrap_dims(dims.integers(), static_cast<int64_t>(shape.size())))
    if (!shape.empty()) removed[d] = shape[d] == 1;
  return removed;
}

/// The order of dimensions for permute.
SmallVector<int64_t, 6> permuted_order(std::span<const Int> dims, int64_t ndim) {
  require(static_cast<int64_t>(dims.size()) == ndim, "dims ", Shape(dims.data(), dims.size()),
          " must name each of the ", ndim, " dimensions");
  return wrap_dims(dims, ndim);
}

Tensor write_reshaped(Arguments a, const Tensor& value, SourceLocation at) {
  return reshape(value, a[0].tensor().shape(), at);
}

}  // namespace

constinit const Symbol permute_symbol{
    .signature = "torch.permute(Tensor input, int[] dims) -> Tensor",
    .documentation = "A view with the dimensions in another order.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const Tensor& input = a[0].tensor();
          const Shape shape = input.shape();
          Shape result;
          for (const int64_t d : permuted_order(a[1].integers(), input.ndim())) result.push_back(shape[d]);
          out.push_back(like(input, result));
        },
    .gradient =
        [](Gradient& g) {
          const auto order = wrap_dims(g.argument(1).integers(), g.tensor(0).ndim());
          Dims inverse;
          inverse.resize(order.size(), 0);
          for (size_t i = 0; i < order.size(); ++i) inverse[order[i]] = static_cast<int64_t>(i);
          g.set(0, permute(g.cotangent(), inverse));
        },
    .view =
        [](Arguments a, ViewGeometry& view) {
          const TensorImpl& input = *a[0].tensor().impl();
          for (const int64_t d : permuted_order(a[1].integers(), static_cast<int64_t>(input.sizes.size()))) {
            view.sizes.push_back(input.sizes[d]);
            view.strides.push_back(input.strides[d]);
          }
          view.offset = input.offset;
          return true;
        },
    .write =
        [](Arguments a, const Tensor& value, SourceLocation at) {
          const auto order = permuted_order(a[1].integers(), value.ndim());
          Dims inverse;
          inverse.resize(order.size(), 0);
          for (size_t d = 0; d < order.size(); ++d) inverse[order[d]] = static_cast<int64_t>(d);
          return permute(value, inverse, at);
        },
    .traits = {.view = true},
    .semantics = {.linearity = Linearity::first},
};

constinit const Symbol transpose_symbol{
    .signature = "torch.transpose(Tensor input, int dim0, int dim1) -> Tensor",
    .documentation = "A view with two dimensions exchanged.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const Tensor& input = a[0].tensor();
          Shape shape = input.shape();
          const int64_t first = wrap_dim(a[1].integer(), input.ndim()), second = wrap_dim(a[2].integer(), input.ndim());
          if (!shape.empty()) std::swap(shape[first], shape[second]);
          out.push_back(like(input, shape));
        },
    .gradient =
        [](Gradient& g) { g.set(0, transpose(g.cotangent(), g.argument(1).integer(), g.argument(2).integer())); },
    .view =
        [](Arguments a, ViewGeometry& view) {
          view = geometry_of(a[0].tensor());
          const int64_t ndim = static_cast<int64_t>(view.sizes.size());
          const int64_t first = wrap_dim(a[1].integer(), ndim), second = wrap_dim(a[2].integer(), ndim);
          if (ndim == 0) return true;
          std::swap(view.sizes[first], view.sizes[second]);
          std::swap(view.strides[first], view.strides[second]);
          return true;
        },
    .write = [](Arguments a, const Tensor& value,
                SourceLocation at) { return transpose(value, a[1].integer(), a[2].integer(), at); },
    .traits = {.view = true},
    .semantics = {.linearity = Linearity::first},
};

constinit const Symbol expand_symbol{
    .signature = "torch.Tensor.expand(Tensor input, int[] size) -> Tensor",
    .documentation = "A view in which dimensions of size 1 and new leading dimensions repeat; -1 keeps a size.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const Tensor& input = a[0].tensor();
          out.push_back(like(input, expanded(input.shape(), a[1].integers())));
        },
    .gradient = [](Gradient& g) { g.set(0, g.cotangent()); },  // the driver sums over repeated dimensions
    .view =
        [](Arguments a, ViewGeometry& view) {
          const TensorImpl& input = *a[0].tensor().impl();
          view.sizes = concrete_sizes(expanded(a[0].tensor().shape(), a[1].integers()));
          const size_t added = view.sizes.size() - input.sizes.size();
          view.strides.resize(view.sizes.size(), 0);
          for (size_t d = 0; d < input.sizes.size(); ++d)
            if (input.sizes[d] == view.sizes[d + added]) view.strides[d + added] = input.strides[d];
          view.offset = input.offset;
          return true;
        },
    .write =
        [](Arguments a, const Tensor& value, SourceLocation at) {
          const Tensor& input = a[0].tensor();
          require(input.numel() == value.numel(), overlapping_write);
          return reshape(value, input.shape(), at);
        },
    .traits = {.view = true},
    .semantics = {.linearity = Linearity::first, .broadcast = true},
};

constinit const Symbol squeeze_symbol{
    .signature = "torch.squeeze(Tensor input, int[]? dim=None) -> Tensor",
    .documentation = "A view without the dimensions of size 1, or without those of them that `dim` names.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const Tensor& input = a[0].tensor();
          const Shape shape = input.shape();
          const auto removed = squeezed(shape, a[1]);
          Shape result;
          for (size_t d = 0; d < shape.size(); ++d)
            if (!removed[d]) result.push_back(shape[d]);
          out.push_back(like(input, result));
        },
    .gradient = [](Gradient& g) { g.set(0, reshape(g.cotangent(), g.tensor(0).shape())); },
    .view =
        [](Arguments a, ViewGeometry& view) {
          const TensorImpl& input = *a[0].tensor().impl();
          const auto removed = squeezed(a[0].tensor().shape(), a[1]);
          for (size_t d = 0; d < input.sizes.size(); ++d) {
            if (removed[d]) continue;
            view.sizes.push_back(input.sizes[d]);
            view.strides.push_back(input.strides[d]);
          }
          view.offset = input.offset;
          return true;
        },
    .write = write_reshaped,
    .traits = {.view = true},
    .semantics = {.linearity = Linearity::first, .keeps_order = true},
};

constinit const Symbol unsqueeze_symbol{
    .signature = "torch.unsqueeze(Tensor input, int dim) -> Tensor",
    .documentation = "A view with a new dimension of size 1 at `dim`.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const Tensor& input = a[0].tensor();
          Shape shape = input.shape();
          shape.insert(normalize_dim(a[1].integer(), input.ndim() + 1), 1);
          out.push_back(like(input, shape));
        },
    .gradient =
        [](Gradient& g) {
          const int64_t dim = normalize_dim(g.argument(1).integer(), g.tensor(0).ndim() + 1);
          g.set(0, squeeze(g.cotangent(), dim));
        },
    .view =
        [](Arguments a, ViewGeometry& view) {
          view = geometry_of(a[0].tensor());
          const int64_t ndim = static_cast<int64_t>(view.sizes.size());
          const int64_t dim = normalize_dim(a[1].integer(), ndim + 1);
          const int64_t stride = dim < ndim ? view.sizes[dim] * view.strides[dim] : 1;
          view.sizes.insert(dim, 1);
          view.strides.insert(dim, stride);
          return true;
        },
    .write = write_reshaped,
    .traits = {.view = true},
    .semantics = {.linearity = Linearity::first, .keeps_order = true},
};

SymbolList view_dimensions_symbols() {
  static constexpr const Symbol* all[] = {&permute_symbol, &transpose_symbol, &expand_symbol, &squeeze_symbol,
                                          &unsqueeze_symbol};
  return all;
}

}  // namespace fulgurite
