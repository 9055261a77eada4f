// Operators that gather or scatter at integer index tensors.
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/elementwise/pointwise_rules.h"
#include "ops/generated/symbols.h"
#include "ops/indexing/indexing_rules.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {
namespace {

/// The call of a scatter with `sum` in the place of its first argument.
bool scatter_into(const Symbol& symbol, std::span<const Value> args, const Value& sum, BoundSymbol& op) {
  op.symbol = &symbol;
  op.args = {sum, args[1], args[2], args[3]};
  return true;
}

void require_index_dtype(const Tensor& index) {
  require(index.dtype() == Dtype::i64 || index.dtype() == Dtype::i32, "the index must be i64 or i32, got ",
          index.dtype());
}

/// The checks shared by gather, scatter and scatter_add; `limit` bounds the index tensor in addition to `dim`.
int64_t check_indices(const Tensor& input, Int given_dim, const Tensor& index) {
  if (index.numel() != 0) require_index_dtype(index);
  const int64_t dim = wrap_dim(given_dim, input.ndim());
  const int64_t ndim = input.ndim() == 0 ? 1 : input.ndim(), index_ndim = index.ndim() == 0 ? 1 : index.ndim();
  require(ndim == index_ndim || index.numel() == 0, "the index has ", index.ndim(), " dimensions, the tensor ",
          input.ndim());
  return dim;
}

/// Requires index sizes within those of `bound`, except in dimension `free_dim`. A 0-d shape counts as one of size 1.
void check_within(const Shape& index, const Shape& bound, int64_t free_dim, const char* what) {
  const Shape one{1}, &inner = index.empty() ? one : index, &outer = bound.empty() ? one : bound;
  require(inner.size() == outer.size(), "the index's shape ", index, " and ", what, " ", bound,
          " differ in their number of dimensions");
  for (size_t d = 0; d < inner.size(); ++d)
    if (static_cast<int64_t>(d) != free_dim)
      require(inner[d] <= outer[d], "the index's shape ", index, " exceeds ", what, " ", bound, " in dimension ", d);
}

/// prims.index arguments that select along one dimension.
std::vector<Tensor> along(int64_t dim, const Tensor& index) {
  std::vector<Tensor> indices(dim + 1);
  indices[dim] = index;
  return indices;
}

std::vector<Tensor> tensors_of(const Argument& list) { return {list.tensors().begin(), list.tensors().end()}; }

}  // namespace

void infer_scatter(Arguments a, InferredTypes& out) {
  const Tensor &input = a[0].tensor(), &index = a[2].tensor();
  const int64_t dim = check_indices(input, a[1].integer(), index);
  const Shape positions = index.shape();
  if (index.numel() != 0) {
    check_within(positions, input.shape(), dim, "the tensor's");
    if (a[3].is_tensor()) check_within(positions, a[3].tensor().shape(), -1, "the source's");
  }
  if (a[3].is_tensor())
    require(a[3].tensor().dtype() == input.dtype(), "the source is ", a[3].tensor().dtype(), ", the tensor ",
            input.dtype());
  require_fits("src", a[3], input.dtype());
  out.push_back(like(input, input.shape()));
}

Tensor scatter_source_cotangent(const Tensor& g, Int dim, const Tensor& index, const Shape& source) {
  const Tensor read = gather(g, dim, index);
  const Shape positions = index.shape();
  if (positions.size() != source.size() || positions == source) return reshape(read, source);
  Dims low, high;
  low.resize(source.size(), 0);
  for (size_t d = 0; d < source.size(); ++d) high.push_back(source[d] - positions[d]);
  return prims::pad(read, low, high, 0.0);
}

constinit const Symbol index_select_symbol{
    .signature = "torch.index_select(Tensor input, int dim, Tensor index) -> Tensor",
    .documentation = "The slices along a dimension whose numbers the one-dimensional index lists.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const Tensor &input = a[0].tensor(), &index = a[2].tensor();
          require_index_dtype(index);
          require(index.ndim() <= 1, "the index must have one dimension, got ", index.ndim());
          Shape shape = input.shape();
          const int64_t dim = wrap_dim(a[1].integer(), input.ndim());
          if (!shape.empty()) shape[dim] = index.numel();
          else require(index.numel() == 1, "the index of a tensor without dimensions must have one element");
          out.push_back(like(input, shape));
        },
    .gradient =
        [](Gradient& g) {
          const Tensor input = g.tensor(0), given = g.tensor(2);
          if (input.ndim() == 0) {
            g.set(0, g.cotangent());
            return;
          }
          const int64_t dim = wrap_dim(g.argument(1).integer(), input.ndim());
          const Tensor index = given.ndim() == 1 ? given : reshape(given, {1});
          const Tensor zeros =
              fulgurite::zeros(input.shape(), {.dtype = g.cotangent().dtype(), .device = input.device()});
          g.set(0, prims::index_put(zeros, along(dim, index), g.cotangent(), true));
        },
    .semantics = {.table = 0},
};

constinit const Symbol gather_symbol{
    .signature = "torch.gather(Tensor input, int dim, Tensor index) -> Tensor",
    .documentation =
        "For each element of `index`, the element of `input` at that number along `dim` and the same place else.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const Tensor &input = a[0].tensor(), &index = a[2].tensor();
          const int64_t dim = check_indices(input, a[1].integer(), index);
          if (index.numel() != 0) check_within(index.shape(), input.shape(), dim, "the tensor's");
          out.push_back(like(input, index.shape()));
        },
    .gradient =
        [](Gradient& g) {
          const Tensor input = g.tensor(0);
          const Tensor zeros =
              fulgurite::zeros(input.shape(), {.dtype = g.cotangent().dtype(), .device = input.device()});
          g.set(0, scatter_add(zeros, g.argument(1).integer(), g.tensor(2), g.cotangent()));
        },
    .semantics = {.table = 0},
};

constinit const Symbol scatter_symbol{
    .signature = "torch.scatter(Tensor input, int dim, Tensor index, Operand src) -> Tensor",
    .documentation =
        "A copy of `input` with elements of `src`, or a number, written at the places that `index` lists along `dim`.",
    .infer = infer_scatter,
    .gradient =
        [](Gradient& g) {
          const Int dim = g.argument(1).integer();
          const Tensor index = g.tensor(2);
          if (g.needs(0)) g.set(0, scatter(g.cotangent(), dim, index, 0));
          if (g.argument(3).is_tensor() && g.needs(3))
            g.set(3, scatter_source_cotangent(g.cotangent(), dim, index, g.tensor(3).shape()));
        },
    .traits = {.has_in_place_form = true},
    .semantics = {.scatter_update = true},
};

constinit const Symbol scatter_add_symbol{
    .signature = "torch.scatter_add(Tensor input, int dim, Tensor index, Tensor src) -> Tensor",
    .documentation =
        "A copy of `input` with elements of `src` added at the places that `index` lists along `dim`, in order.",
    .infer = infer_scatter,
    .gradient =
        [](Gradient& g) {
          g.set(0, g.cotangent());
          if (g.needs(3)) {
            const Shape source = g.tensor(3).shape();
            g.set(3, scatter_source_cotangent(g.cotangent(), g.argument(1).integer(), g.tensor(2), source));
          }
        },
    .accumulate = [](std::span<const Value> args, const Value& sum,
                     BoundSymbol& op) { return scatter_into(scatter_add_symbol, args, sum, op); },
    .traits = {.has_in_place_form = true},
    .semantics = {.scatter_update = true},
};

constinit const Symbol prims_index_symbol{
    .signature = "prims.index(Tensor input, Tensor?[] indices) -> Tensor",
    .documentation =
        "The elements at the places that integer tensors, broadcast together, list for the dimensions they stand at; "
        "an undefined tensor keeps its dimension whole. The places' dimensions come where the first tensor "
        "stands if the tensors are adjacent, else first.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          out.push_back(like(a[0].tensor(), indexed_shape(a[0].tensor(), a[1].tensors())));
        },
    .gradient =
        [](Gradient& g) {
          const Tensor input = g.tensor(0);
          const Tensor zeros =
              fulgurite::zeros(input.shape(), {.dtype = g.cotangent().dtype(), .device = input.device()});
          g.set(0, prims::index_put(zeros, tensors_of(g.argument(1)), g.cotangent(), true));
        },
    .python = "torch.ops.aten.index({0}, {1})",
};

constinit const Symbol prims_index_put_symbol{
    .signature = "prims.index_put(Tensor input, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    .documentation =
        "A copy of `input` with `values`, broadcast, written (or added, in order) at the places of prims.index.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const Tensor &input = a[0].tensor(), &values = a[2].tensor();
          const Shape positions = indexed_shape(input, a[1].tensors());
          require(broadcast_shapes(positions, values.shape()) == positions, "values of shape ", values.shape(),
                  " cannot be broadcast to the places' shape ", positions);
          require(values.dtype() == input.dtype(), "values are ", values.dtype(), ", the tensor ", input.dtype());
          out.push_back(like(input, input.shape()));
        },
    .gradient =
        [](Gradient& g) {
          const std::vector<Tensor> indices = tensors_of(g.argument(1));
          if (g.needs(0)) {
            if (g.argument(3).boolean()) {
              g.set(0, g.cotangent());
            } else {
              const Tensor zero =
                  fulgurite::zeros(Shape(), {.dtype = g.cotangent().dtype(), .device = g.cotangent().device()});
              g.set(0, prims::index_put(g.cotangent(), indices, zero, false));
            }
          }
          if (g.needs(2)) g.set(2, prims::index(g.cotangent(), indices));
        },
    .accumulate =
        [](std::span<const Value> args, const Value& sum, BoundSymbol& op) {
          const bool adds =
              args.size() > 3 && args[3].is_bool() && !args[3].boolean().is_symbolic() && args[3].boolean().hint();
          return adds && scatter_into(prims_index_put_symbol, args, sum, op);
        },
    .python = "torch.ops.aten.index_put({0}, {1}, {2}, {3})",
    .semantics = {.scatter_update = true},
};

constinit const Symbol prims_integer_tensor_symbol{
    .signature = "prims.integer_tensor(int[] values) -> Tensor",
    .documentation = "A one-dimensional i64 tensor of these numbers.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          out.push_back({{a[0].integers().size()}, Dtype::i64, {}});
        },
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          std::vector<Tensor> elements;
          for (const Int n : a[0].integers()) elements.push_back(full({1}, n, {.dtype = Dtype::i64}, at));
          out.push_back(elements.empty() ? zeros({0}, {.dtype = Dtype::i64}, at) : cat(elements, 0, at));
        },
    .python = "torch.tensor({0}, dtype=torch.int64)",
    .traits = {.not_differentiable = true},
};

constinit const Symbol index_put_symbol{
    .signature = "torch.index_put(Tensor input, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    .documentation =
        "A copy of `input` with `values`, broadcast, written (or added) at the places that index tensors list.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const std::vector<Tensor> given = tensors_of(a[1]);
          if (Tensor result = put_under_mask(a[0].tensor(), given, a[2].tensor(), a[3].boolean(), at); result.defined())
            return out.push_back(std::move(result));
          const std::vector<Tensor> indices = integer_indices(a[0].tensor(), given, at);
          out.push_back(prims::index_put(a[0].tensor(), indices, a[2].tensor(), a[3].boolean(), at));
        },
    .traits = {.has_in_place_form = true},
};

constinit const Symbol getitem_symbol{
    .signature = "torch.Tensor.__getitem__(Tensor input, Index[] indices) -> Tensor",
    .documentation = "x[…] with integers, slices, Ellipsis, None, integer tensors, masks and lists of integers.",
    .decompose = [](Arguments a, Results& out,
                    SourceLocation at) { out.push_back(index_with(a[0].tensor(), a[1].list(), at)); },
    .python = "{0}[{1}]",
    .kind = SymbolKind::indexing,
};

std::span<const Symbol* const> indexing_symbols() {
  static constexpr const Symbol* all[] = {&index_select_symbol, &gather_symbol,      &scatter_symbol,
                                          &scatter_add_symbol,  &prims_index_symbol, &prims_index_put_symbol,
                                          &index_put_symbol,    &getitem_symbol,     &prims_integer_tensor_symbol};
  return all;
}

}  // namespace fulgurite
