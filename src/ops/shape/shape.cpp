// Operators that change a tensor's sizes but not its elements.
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/generated/symbols.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {
namespace {

Dims dims_of(const SmallVector<int64_t, 6>& order) {
  Dims dims;
  for (const int64_t d : order) dims.push_back(d);
  return dims;
}

/// The sizes of flatten(input, start, end).
Shape flattened(const Shape& shape, int64_t start, int64_t end) {
  require(start <= end, "start_dim ", start, " comes after end_dim ", end);
  Shape result;
  for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d) {
    if (d > start && d <= end) result.back() = result.back() * shape[d];
    else result.push_back(shape[d]);
  }
  return result;
}

/// The order of dimensions for movedim.
SmallVector<int64_t, 6> moved_order(int64_t ndim, std::span<const Int> source, std::span<const Int> destination) {
  require(source.size() == destination.size(), "source has ", source.size(), " dimensions and destination has ",
          destination.size());
  const auto from = wrap_dims(source, ndim), to = wrap_dims(destination, ndim);
  SmallVector<int64_t, 6> order(ndim);
  SmallVector<bool, 6> taken(ndim), placed(ndim);
  for (size_t i = 0; i < from.size(); ++i) {
    if (ndim == 0) break;
    order[to[i]] = from[i];
    taken[from[i]] = placed[to[i]] = true;
  }
  int64_t next = 0;
  for (int64_t d = 0; d < ndim; ++d) {
    if (placed[d]) continue;
    while (taken[next]) ++next;
    order[d] = next++;
  }
  return order;
}

}  // namespace

constinit const Symbol reshape_symbol{
    .signature = "torch.reshape(Tensor input, int[] shape) -> Tensor",
    .documentation =
        "The same elements, in order, with another shape; one size may be -1. A view where strides allow, else a copy.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const Tensor& input = a[0].tensor();
          out.push_back(like(input, resolve_shape(input.shape(), a[1].integers())));
        },
    .gradient = [](Gradient& g) { g.set(0, reshape(g.cotangent(), g.tensor(0).shape())); },
    .view =
        [](Arguments a, ViewGeometry& view) {
          const TensorImpl& input = *a[0].tensor().impl();
          view.sizes = concrete_sizes(resolve_shape(a[0].tensor().shape(), a[1].integers()));
          view.offset = input.offset;
          return reshape_strides(input.sizes, input.strides, view.sizes, view.strides);
        },
    .write = [](Arguments a, const Tensor& value,
                SourceLocation at) { return reshape(value, a[0].tensor().shape(), at); },
    .traits = {.view = true},
    .semantics = {.linearity = Linearity::first, .keeps_order = true, .may_copy = true},
};

constinit const Symbol view_symbol{
    .signature = "torch.Tensor.view(Tensor input, int[] size) -> Tensor",
    .documentation = "Like reshape, but an error where only a copy will do.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& input = a[0].tensor();
          if (!is_proxy(input)) {
            Sizes strides;
            const Sizes wanted = concrete_sizes(resolve_shape(input.shape(), a[1].integers()));
            require(reshape_strides(input.impl()->sizes, input.impl()->strides, wanted, strides),
                    "the strides do not allow a view of shape ", a[1].shape(), "; use reshape");
          }
          out.push_back(reshape(input, a[1].shape(), at));
        },
    .semantics = {.never_copies = true},
};

constinit const Symbol view_as_symbol{
    .signature = "torch.Tensor.view_as(Tensor input, Tensor other) -> Tensor",
    .documentation = "A view with the shape of another tensor.",
    .decompose = [](Arguments a, Results& out,
                    SourceLocation at) { out.push_back(view(a[0].tensor(), a[1].tensor().shape(), at)); },
};

constinit const Symbol reshape_as_symbol{
    .signature = "torch.Tensor.reshape_as(Tensor input, Tensor other) -> Tensor",
    .documentation = "The same elements with the shape of another tensor.",
    .decompose = [](Arguments a, Results& out,
                    SourceLocation at) { out.push_back(reshape(a[0].tensor(), a[1].tensor().shape(), at)); },
};

constinit const Symbol flatten_symbol{
    .signature = "torch.flatten(Tensor input, int start_dim=0, int end_dim=-1) -> Tensor",
    .documentation = "Joins the dimensions start_dim … end_dim into one.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& input = a[0].tensor();
          const int64_t start = wrap_dim(a[1].integer(), input.ndim()), end = wrap_dim(a[2].integer(), input.ndim());
          const Shape shape = input.ndim() == 0 ? Shape{1} : flattened(input.shape(), start, end);
          out.push_back(start == end && input.ndim() > 0 ? input : reshape(input, shape, at));
        },
};

constinit const Symbol unflatten_symbol{
    .signature = "torch.unflatten(Tensor input, int dim, int[] sizes) -> Tensor",
    .documentation = "Splits one dimension into several; one of the sizes may be -1.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& input = a[0].tensor();
          require(!a[2].integers().empty(), "sizes must not be empty");
          const int64_t dim = normalize_dim(a[1].integer(), input.ndim());
          const Shape shape = input.shape();
          const Shape parts = resolve_shape({shape[dim]}, a[2].integers());
          Shape result(shape.data(), dim);
          for (const Int size : parts) result.push_back(size);
          for (size_t d = dim + 1; d < shape.size(); ++d) result.push_back(shape[d]);
          out.push_back(reshape(input, result, at));
        },
};

constinit const Symbol t_symbol{
    .signature = "torch.t(Tensor input) -> Tensor",
    .documentation = "The transpose of a matrix; tensors of fewer dimensions stay as they are.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& input = a[0].tensor();
          require(input.ndim() <= 2, "expected at most 2 dimensions, got ", input.ndim());
          out.push_back(input.ndim() < 2 ? input : transpose(input, 0, 1, at));
        },
};

constinit const Symbol movedim_symbol{
    .signature = "torch.movedim(Tensor input, int[] source, int[] destination) -> Tensor",
    .documentation = "Moves dimensions to other places; the others keep their order.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& input = a[0].tensor();
          const auto order = moved_order(input.ndim(), a[1].integers(), a[2].integers());
          out.push_back(permute(input, dims_of(order), at));
        },
};

constinit const Symbol broadcast_to_symbol{
    .signature = "torch.broadcast_to(Tensor input, int[] size) -> Tensor",
    .documentation = "A view in which dimensions of size 1 and new leading dimensions repeat.",
    .decompose = [](Arguments a, Results& out,
                    SourceLocation at) { out.push_back(expand(a[0].tensor(), a[1].shape(), at)); },
};

constinit const Symbol expand_as_symbol{
    .signature = "torch.Tensor.expand_as(Tensor input, Tensor other) -> Tensor",
    .documentation = "A view broadcast to the shape of another tensor.",
    .decompose = [](Arguments a, Results& out,
                    SourceLocation at) { out.push_back(expand(a[0].tensor(), a[1].tensor().shape(), at)); },
};

std::span<const Symbol* const> shape_symbols() {
  static constexpr const Symbol* all[] = {&reshape_symbol,      &view_symbol,      &view_as_symbol, &reshape_as_symbol,
                                          &flatten_symbol,      &unflatten_symbol, &t_symbol,       &movedim_symbol,
                                          &broadcast_to_symbol, &expand_as_symbol};
  return all;
}

}  // namespace fulgurite
