// Views of a range of a dimension, and of all elements: the same storage under other sizes and strides.
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/generated/symbols.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {
namespace {

/// prims.slice's arguments in plain form.
struct SliceRange {
  int64_t dim;
  Range range;
  Int step, length;
};
SliceRange slice_range(Arguments a) {
  const Tensor& input = a[0].tensor();
  require(input.ndim() > 0, "a tensor without dimensions cannot be sliced");
  const int64_t dim = normalize_dim(a[1].integer(), input.ndim());
  require(a[4].integer() > 0, "step must be positive, got ", a[4].integer().hint());
  const Int size = input.size(static_cast<int>(dim)), step = step_within(a[4].integer(), size);
  const Range range = clamp_range(a[2].optional_integer(), a[3].optional_integer(), size);
  return {dim, range, step, range_length(range, step)};
}

/// torch.narrow's arguments in plain form.
struct NarrowRange {
  int64_t dim;
  Int start, length;
};
NarrowRange narrow_range(Arguments a) {
  const Tensor& input = a[0].tensor();
  require(input.ndim() > 0, "a tensor without dimensions cannot be narrowed");
  const int64_t dim = normalize_dim(a[1].integer(), input.ndim());
  const Int size = input.size(static_cast<int>(dim)), given = a[2].integer(), length = a[3].integer();
  const Int start = given < 0 ? given + size : given;
  require(length >= 0, "length is negative: ", length.hint());
  require(start >= 0 && start + length <= size, "start ", given.hint(), " with length ", length.hint(),
          " exceeds the dimension's size ", size.hint());
  return {dim, start, length};
}

int64_t select_dim(Int dim, int64_t ndim) {
  require(ndim > 0, "a tensor without dimensions has nothing to select from");
  return normalize_dim(dim, ndim);
}

/// Pads `g` along `dim` with zeros to `size` elements, of which its first is `start`.
Tensor pad_along(const Tensor& g, int64_t dim, Int start, Int size) {
  Dims low, high;
  low.resize(g.ndim(), 0);
  high.resize(g.ndim(), 0);
  low[dim] = start;
  high[dim] = size - start - g.size(static_cast<int>(dim));
  return prims::pad(g, low, high, 0.0);
}

/// The gradient of a slice with a step: zeros between the elements, then around them.
Tensor spread(Tensor g, int64_t dim, Int start, Int size, Int step) {
  const Shape shape = g.shape();
  const Tensor columns = unsqueeze(g, dim + 1);
  Dims low, high;
  low.resize(shape.size() + 1, 0);
  high.resize(shape.size() + 1, 0);
  high[dim + 1] = step - 1;
  const Tensor spaced = prims::pad(columns, low, high, 0.0);
  Shape joined = shape;
  joined[dim] = shape[dim] * step;
  g = reshape(spaced, joined);
  if (start + joined[dim] > size) g = narrow(g, dim, 0, size - start);
  return pad_along(g, dim, start, size);
}

}  // namespace

constinit const Symbol select_symbol{
    .signature = "torch.select(Tensor input, int dim, int index) -> Tensor",
    .documentation = "A view of one index along a dimension, which goes away.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const Tensor& input = a[0].tensor();
          Shape shape = input.shape();
          const int64_t dim = select_dim(a[1].integer(), input.ndim());
          wrap_index(a[2].integer(), shape[dim]);
          shape.erase(dim);
          out.push_back(like(input, shape));
        },
    .gradient =
        [](Gradient& g) {
          const Tensor input = g.tensor(0);
          const int64_t dim = normalize_dim(g.argument(1).integer(), input.ndim());
          const Int size = input.size(static_cast<int>(dim));
          const Int index = wrap_index(g.argument(2).integer(), size);
          const Tensor one = unsqueeze(g.cotangent(), dim);
          g.set(0, pad_along(one, dim, index, size));
        },
    .view =
        [](Arguments a, ViewGeometry& view) {
          view = geometry_of(a[0].tensor());
          const int64_t dim = select_dim(a[1].integer(), static_cast<int64_t>(view.sizes.size()));
          const int64_t index = wrap_index(a[2].integer(), view.sizes[dim]);
          view.offset += index * view.strides[dim];
          view.sizes.erase(dim);
          view.strides.erase(dim);
          return true;
        },
    .write = [](Arguments a, const Tensor& value,
                SourceLocation at) { return select_scatter(a[0].tensor(), value, a[1].integer(), a[2].integer(), at); },
    .traits = {.view = true},
};

constinit const Symbol narrow_symbol{
    .signature = "torch.narrow(Tensor input, int dim, int start, int length) -> Tensor",
    .documentation = "A view of `length` indexes along a dimension, from `start` on.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const NarrowRange range = narrow_range(a);
          Shape shape = a[0].tensor().shape();
          shape[range.dim] = range.length;
          out.push_back(like(a[0].tensor(), shape));
        },
    .gradient =
        [](Gradient& g) {
          const NarrowRange range = narrow_range(g.arguments());
          g.set(0, pad_along(g.cotangent(), range.dim, range.start, g.tensor(0).size(static_cast<int>(range.dim))));
        },
    .view =
        [](Arguments a, ViewGeometry& view) {
          const NarrowRange range = narrow_range(a);
          view = geometry_of(a[0].tensor());
          view.offset += static_cast<int64_t>(range.start) * view.strides[range.dim];
          view.sizes[range.dim] = range.length;
          return true;
        },
    .write =
        [](Arguments a, const Tensor& value, SourceLocation at) {
          const NarrowRange range = narrow_range(a);
          return slice_scatter(a[0].tensor(), value, range.dim, range.start, range.start + range.length, 1, at);
        },
    .traits = {.view = true},
};

constinit const Symbol prims_slice_symbol{
    .signature = "prims.slice(Tensor input, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor",
    .documentation = "A view of start:end:step along a dimension, by Python's rules.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const SliceRange slice = slice_range(a);
          Shape shape = a[0].tensor().shape();
          shape[slice.dim] = slice.length;
          out.push_back(like(a[0].tensor(), shape));
        },
    .gradient =
        [](Gradient& g) {
          const SliceRange slice = slice_range(g.arguments());
          const Int size = g.tensor(0).size(static_cast<int>(slice.dim));
          const bool dense = !slice.step.is_symbolic() && slice.step.hint() == 1;
          if (dense) g.set(0, pad_along(g.cotangent(), slice.dim, slice.range.start, size));
          else g.set(0, spread(g.cotangent(), slice.dim, slice.range.start, size, slice.step));
        },
    .view =
        [](Arguments a, ViewGeometry& view) {
          const SliceRange slice = slice_range(a);
          view = geometry_of(a[0].tensor());
          view.offset += static_cast<int64_t>(slice.range.start) * view.strides[slice.dim];
          view.sizes[slice.dim] = slice.length;
          // With one element the stride is irrelevant, and may overflow.
          int64_t& stride = view.strides[slice.dim];
          if (int64_t stepped; !__builtin_mul_overflow(stride, static_cast<int64_t>(a[4].integer()), &stepped))
            stride = stepped;
          return true;
        },
    .write =
        [](Arguments a, const Tensor& value, SourceLocation at) {
          return slice_scatter(a[0].tensor(), value, a[1].integer(), a[2].optional_integer(), a[3].optional_integer(),
                               a[4].integer(), at);
        },
    .python = "torch.ops.aten.slice({0}, {1}, {2}, {3}, {4})",
    .traits = {.view = true},
};

constinit const Symbol contiguous_symbol{
    .signature = "torch.Tensor.contiguous(Tensor input) -> Tensor",
    .documentation = "The tensor itself if its elements are in row-major order without gaps, else a copy that is.",
    .infer = [](Arguments a, InferredTypes& out) { out.push_back(like(a[0].tensor(), a[0].tensor().shape())); },
    .gradient = [](Gradient& g) { g.set(0, g.cotangent()); },
    .view =
        [](Arguments a, ViewGeometry& view) {
          view = geometry_of(a[0].tensor());
          return a[0].tensor().impl()->is_contiguous;
        },
    .write = [](Arguments, const Tensor& value, SourceLocation) { return value; },
    .traits = {.view = true},
    .semantics = {.may_copy = true},
};

constinit const Symbol detach_symbol{
    .signature = "torch.detach(Tensor input) -> Tensor",
    .documentation = "The same values without history.",
    .infer = [](Arguments a, InferredTypes& out) { out.push_back(like(a[0].tensor(), a[0].tensor().shape())); },
    .view =
        [](Arguments a, ViewGeometry& view) {
          view = geometry_of(a[0].tensor());
          return true;
        },
    .write = [](Arguments, const Tensor& value, SourceLocation) { return value; },
    .traits = {.view = true, .not_differentiable = true},
};

SymbolList views_symbols() {
  static constexpr const Symbol* all[] = {&select_symbol, &narrow_symbol, &prims_slice_symbol, &contiguous_symbol,
                                          &detach_symbol};
  return all;
}

}  // namespace fulgurite
