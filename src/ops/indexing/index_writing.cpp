// Operators that scatter along one dimension, and that gather from the flattened tensor.
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/core/precision.h"
#include "ops/elementwise/pointwise_rules.h"
#include "ops/generated/symbols.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {
namespace {

/// prims.index_put's index tensors for an index along one dimension.
std::vector<Tensor> along(int64_t dim, const Tensor& index) {
  std::vector<Tensor> indices(static_cast<size_t>(dim) + 1);
  indices.back() = index;
  return indices;
}

void check_index(const Tensor& index) {
  require(is_integer(index.dtype()), "index must hold integers, got ", index.dtype());
  require(index.ndim() <= 1, "index must have at most 1 dimension, got shape ", index.shape());
}

/// index_put along a dimension; a 0-d tensor counts as having one.
Tensor written(const Tensor& x, Int given_dim, const Tensor& given_index, Tensor values, bool accumulate,
               SourceLocation at) {
  check_index(given_index);
  const int64_t dim = wrap_dim(given_dim, x.ndim());
  const Tensor index = given_index.ndim() == 0 ? reshape(given_index, {1}, at) : given_index;
  const bool is_scalar = x.ndim() == 0;
  const Tensor row = is_scalar ? reshape(x, {1}, at) : x;
  if (values.ndim() == 0 && is_scalar) values = reshape(values, {1}, at);
  const Tensor result = prims::index_put(row, along(dim, index), values, accumulate, at);
  return is_scalar ? reshape(result, {}, at) : result;
}

void check_source(const Tensor& x, Int given_dim, const Tensor& index, const Tensor& source) {
  const int64_t dim = wrap_dim(given_dim, x.ndim());
  Shape wanted = x.shape();
  if (!wanted.empty()) wanted[dim] = index.numel();
  require(source.dtype() == x.dtype(), "source is ", source.dtype(), ", the tensor ", x.dtype());
  require(source.shape() == wanted || (x.ndim() == 0 && source.numel() == 1), "source has shape ", source.shape(),
          ", expected ", wanted);
}

/// Wraps negative indices, as gather accepts them.
Tensor counted_from_start(const Tensor& positions, Int size, SourceLocation at) {
  const Tensor is_negative = lt(positions, 0, at);
  const Tensor wrapped = add(positions, size, 1, at);
  return where(is_negative, wrapped, positions, at);
}

/// A 0-d tensor at the places of an index, by a mask: a place that is listed twice counts once in its gradient.
Tensor filled(const Tensor& x, Int given_dim, const Tensor& index, const Tensor& value, SourceLocation at) {
  const int64_t dim = wrap_dim(given_dim, x.ndim());
  const Int size = x.ndim() == 0 ? Int(1) : x.size(static_cast<int>(dim));
  const Tensor none = full({size}, false, {.dtype = Dtype::boolean, .device = x.device()}, at);
  const Tensor all = full({}, true, {.dtype = Dtype::boolean, .device = x.device()}, at);
  const Tensor is_listed = written(none, 0, index, all, false, at);
  Shape shape;
  for (int64_t d = 0; d < x.ndim(); ++d) shape.push_back(d == dim ? size : Int(1));
  return where(reshape(is_listed, Dims(shape), at), value, x, at);
}

}  // namespace

constinit const Symbol index_add_symbol{
    .signature = "torch.index_add(Tensor input, int dim, Tensor index, Tensor source, *, Operand alpha=1) -> Tensor",
    .documentation =
        "A copy of input with alpha * source added, slice by slice, at the places that index lists along dim.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor &x = a[0].tensor(), &source = a[3].tensor();
          check_source(x, a[1].integer(), a[2].tensor(), source);
          const bool is_one = a[4].is_integer() && a[4].integer() == 1;
          const Tensor scaled = is_one ? source : mul(source, a[4].operand(), at);
          const Tensor values =
              scaled.dtype() == x.dtype() ? scaled : prims::convert_element_type(scaled, x.dtype(), at);
          out.push_back(written(x, a[1].integer(), a[2].tensor(), values, true, at));
        },
    .traits = {.has_in_place_form = true},
};

constinit const Symbol index_copy_symbol{
    .signature = "torch.index_copy(Tensor input, int dim, Tensor index, Tensor source) -> Tensor",
    .documentation = "A copy of input with source written, slice by slice, at the places that index lists along dim.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          check_source(a[0].tensor(), a[1].integer(), a[2].tensor(), a[3].tensor());
          out.push_back(written(a[0].tensor(), a[1].integer(), a[2].tensor(), a[3].tensor(), false, at));
        },
    .traits = {.has_in_place_form = true},
    .semantics = {.autocast = AutocastPolicy::widest},
};

constinit const Symbol index_fill_symbol{
    .signature = "torch.index_fill(Tensor input, int dim, Tensor index, Operand value) -> Tensor",
    .documentation = "A copy of input with one value written at the places that index lists along dim.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& x = a[0].tensor();
          Tensor value;
          if (a[3].is_tensor()) {
            require(a[3].tensor().ndim() == 0, "value must have no dimensions, got shape ", a[3].tensor().shape());
            value = a[3].tensor().dtype() == x.dtype() ? a[3].tensor()
                                                       : prims::convert_element_type(a[3].tensor(), x.dtype(), at);
          } else {
            require_fits("value", a[3], x.dtype());
            value = full({}, a[3].operand(), {.dtype = x.dtype(), .device = x.device()}, at);
          }
          out.push_back(a[3].is_tensor() ? filled(x, a[1].integer(), a[2].tensor(), value, at)
                                         : written(x, a[1].integer(), a[2].tensor(), value, false, at));
        },
    .traits = {.has_in_place_form = true},
};

constinit const Symbol select_scatter_symbol{
    .signature = "torch.select_scatter(Tensor input, Tensor src, int dim, int index) -> Tensor",
    .documentation = "A copy of input with src at one index of a dimension.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& x = a[0].tensor();
          const Tensor source = as_dtype(a[1].tensor(), x.dtype(), at);
          require(x.ndim() > 0, "a tensor without dimensions has nothing to write to");
          const int64_t dim = normalize_dim(a[2].integer(), x.ndim());
          const Int size = x.size(static_cast<int>(dim)), index = wrap_index(a[3].integer(), size);
          Shape wanted = x.shape();
          wanted.erase(dim);
          require(source.shape() == wanted, "src has shape ", source.shape(), ", expected ", wanted);
          const Tensor middle = unsqueeze(source, dim, at);
          const Tensor before = narrow(x, dim, 0, index, at);
          const Tensor after = narrow(x, dim, index + 1, size - index - 1, at);
          out.push_back(cat({before, middle, after}, dim, at));
        },
};

constinit const Symbol slice_scatter_symbol{
    .signature =
        "torch.slice_scatter(Tensor input, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) -> "
        "Tensor",
    .documentation = "A copy of input with src at the places of a slice.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& x = a[0].tensor();
          const Tensor source = as_dtype(a[1].tensor(), x.dtype(), at);
          require(x.ndim() > 0, "a tensor without dimensions has no slices");
          const int64_t dim = normalize_dim(a[2].integer(), x.ndim());
          require(a[5].integer() > 0, "step must be positive, got ", a[5].integer().hint());
          const Int size = x.size(static_cast<int>(dim)), step = step_within(a[5].integer(), size);
          const Range range = clamp_range(a[3].optional_integer(), a[4].optional_integer(), size);
          const Int length = range_length(range, step);
          Shape wanted = x.shape();
          wanted[dim] = length;
          require(source.shape() == wanted, "src has shape ", source.shape(), ", the slice ", wanted);
          if (step == 1) {
            const Tensor before = narrow(x, dim, 0, range.start, at);
            const Tensor after = narrow(x, dim, range.start + length, size - range.start - length, at);
            return out.push_back(cat({before, source, after}, dim, at));
          }
          const Tensor positions =
              arange(range.start, range.start + length * step, step, {.dtype = Dtype::i64, .device = x.device()}, at);
          out.push_back(prims::index_put(x, along(dim, positions), source, false, at));
        },
};

constinit const Symbol take_symbol{
    .signature = "torch.take(Tensor input, Tensor index) -> Tensor",
    .documentation = "The elements of the flattened tensor at the places in index, in its shape.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor &x = a[0].tensor(), &index = a[1].tensor();
          require(is_integer(index.dtype()), "index must hold integers, got ", index.dtype());
          const Tensor flat = reshape(x, {-1}, at);
          out.push_back(prims::index(flat, {index}, at));
        },
    .semantics = {.table = 0},
};

constinit const Symbol take_along_dim_symbol{
    .signature = "torch.take_along_dim(Tensor input, Tensor indices, int? dim=None) -> Tensor",
    .documentation =
        "gather() with input and indices broadcast against each other; without dim of the flattened tensors.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor &x = a[0].tensor(), &indices = a[1].tensor();
          require(is_integer(indices.dtype()), "indices must hold integers, got ", indices.dtype());
          if (a[2].is_none()) {
            const Tensor flat = reshape(x, {-1}, at);
            const Tensor positions = reshape(indices, {-1}, at);
            return out.push_back(gather(flat, 0, positions, at));
          }
          require(x.ndim() == indices.ndim(), "input has ", x.ndim(), " dimensions, indices ", indices.ndim());
          const int64_t dim = normalize_dim(a[2].integer(), x.ndim());
          Shape sizes = x.shape(), positions = indices.shape();
          sizes[dim] = 1;
          positions[dim] = 1;
          const Shape common = broadcast_shapes(sizes, positions);
          Shape wide = common, long_indices = common;
          wide[dim] = x.size(static_cast<int>(dim));
          long_indices[dim] = indices.size(static_cast<int>(dim));
          const Tensor source = expand(x, wide, at);
          const Tensor from_start = counted_from_start(indices, wide[dim], at);
          const Tensor expanded = expand(from_start, long_indices, at);
          out.push_back(gather(source, dim, expanded, at));
        },
    .semantics = {.table = 0},
};

constinit const Symbol count_nonzero_symbol{
    .signature = "torch.count_nonzero(Tensor input, int[]? dim=None) -> Tensor",
    .documentation = "How many elements are not zero, of all or along dimensions.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor counted = ne(a[0].tensor(), 0, at);
          out.push_back(sum(counted, a[1].is_none() ? Dims() : Dims(a[1].shape()), false, {}, at));
        },
    .traits = {.reduction = true, .not_differentiable = true},
};

constinit const Symbol prims_scatter_with_reduce_symbol{
    .signature = "prims.scatter_with_reduce(Tensor input, int dim, Tensor index, Operand src, str reduce) -> Tensor",
    .documentation =
        "torch.scatter with reduce: \"add\" adds the elements of `src`, or a number, \"multiply\" multiplies by them.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor &input = a[0].tensor(), &index = a[2].tensor();
          const std::string_view reduce = a[4].string();
          require(reduce == "add" || reduce == "multiply", "reduce must be \"add\" or \"multiply\", got \"", reduce,
                  "\"");
          const TensorOptions like_input{.dtype = input.dtype(), .device = input.device()};
          const Tensor source =
              a[3].is_tensor() ? a[3].tensor() : full(index.shape(), a[3].operand(at), like_input, at);
          const Int dim = a[1].integer();
          if (reduce == "add") out.push_back(scatter_add(input, dim, index, source, at));
          else out.push_back(scatter_reduce(input, dim, index, source, "prod", true, at));
        },
    .python = "torch.scatter({0}, {1}, {2}, {3}, reduce={4})",
    .traits = {.has_in_place_form = true},
};

SymbolList index_writing_symbols() {
  static constexpr const Symbol* list[] = {
      &index_add_symbol,      &index_copy_symbol,    &index_fill_symbol,
      &select_scatter_symbol, &slice_scatter_symbol, &take_symbol,
      &take_along_dim_symbol, &count_nonzero_symbol, &prims_scatter_with_reduce_symbol,
  };
  return list;
}

}  // namespace fulgurite
