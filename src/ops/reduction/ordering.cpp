// Sorting and order statistics: sort, topk, kthvalue, median.
#include <cmath>

#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/generated/symbols.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {
namespace {

void require_order(const Tensor& x) { require(!is_boolean(x.dtype()), "not defined for booleans"); }

/// The size along a dimension; 1 for a 0-d tensor.
Int size_along(const Tensor& x, int64_t dim) { return x.ndim() == 0 ? Int(1) : x.size(static_cast<int>(dim)); }

/// The shape after choosing one element of each row.
Shape chosen_shape(const Tensor& x, int64_t dim, bool keepdim) {
  Shape shape = x.shape();
  if (shape.empty()) return shape;
  if (keepdim) shape[dim] = 1;
  else shape.erase(dim);
  return shape;
}

void push_with_indices(const Tensor& x, const Shape& shape, InferredTypes& types) {
  types.push_back(like(x, shape));
  types.push_back({shape, Dtype::i64, x.device()});
}

/// The cotangent of an input whose elements were gathered: scattered to their indices, zero elsewhere.
void gradient_of_taken(Gradient& g, Int given_dim, bool has_dim) {
  const Shape shape = g.tensor(0).shape();
  const int64_t ndim = static_cast<int64_t>(shape.size()), dim = wrap_dim(given_dim, ndim);
  const bool is_missing = !has_dim && ndim > 0;
  const Tensor cotangent = is_missing ? unsqueeze(g.cotangent(), dim) : g.cotangent();
  const Tensor places = is_missing ? unsqueeze(g.result(1), dim) : g.result(1);
  const Tensor nothing = zeros(shape, {.dtype = cotangent.dtype(), .device = cotangent.device()});
  g.set(0, scatter(nothing, dim, places, cotangent));
}

void infer_median(Arguments a, InferredTypes& types) {
  const Tensor& x = a[0].tensor();
  require_order(x);
  const int64_t dim = wrap_dim(a[1].integer(), x.ndim());
  require(size_along(x, dim) > 0, "dimension ", dim, " has no elements");
  push_with_indices(x, chosen_shape(x, dim, a[2].boolean()), types);
}

void decompose_median(Arguments a, Results& out, SourceLocation at, bool ignore_nan) {
  const Tensor& x = a[0].tensor();
  require_order(x);
  if (x.numel() == 0) {
    require(is_floating(x.dtype()), "the median of no integers is not defined");
    return out.push_back(full({}, NAN, {.dtype = x.dtype(), .device = x.device()}, at));
  }
  const Tensor flat = reshape(x, {-1}, at);
  const auto [value, place] =
      ignore_nan ? prims::nanmedian_with_indices(flat, 0, false, at) : prims::median_with_indices(flat, 0, false, at);
  out.push_back(value);
}

/// Elements that equal the median share its cotangent.
void gradient_of_median(Gradient& g) {
  const Tensor x = g.tensor(0), value = g.result();
  const Tensor is_equal = eq(x, value);
  const Tensor is_nan = isnan(x);
  const Tensor result_is_nan = isnan(value);
  const Tensor both = logical_and(is_nan, result_is_nan);
  const Tensor chosen = logical_or(is_equal, both);
  const Tensor numbers = prims::convert_element_type(chosen, x.dtype());
  const Tensor count = sum(numbers);
  const Tensor share = div(g.cotangent(), count);
  g.set(0, mul(numbers, share));
}

}  // namespace

constinit const Symbol sort_symbol{
    .signature =
        "torch.sort(Tensor input, int dim=-1, bool descending=False, *, bool stable=False) -> (Tensor, Tensor)",
    .documentation =
        "The elements along a dimension in order, and the places they had. Where stable, equal ones keep their "
        "order, else they come as in PyTorch. NaN is the largest.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          const Tensor& x = a[0].tensor();
          wrap_dim(a[1].integer(), x.ndim());
          push_with_indices(x, x.shape(), types);
        },
    .gradient = [](Gradient& g) { gradient_of_taken(g, g.argument(1).integer(), true); },
    .python = "torch.sort({0}, dim={1}, descending={2}, stable={3})",
};

constinit const Symbol argsort_symbol{
    .signature = "torch.argsort(Tensor input, int dim=-1, bool descending=False, *, bool stable=False) -> Tensor",
    .documentation = "The places of the elements along a dimension, in the order of the elements.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const auto [values, places] = sort(a[0].tensor(), a[1].integer(), a[2].boolean(), a[3].boolean(), at);
          out.push_back(places);
        },
    .python = "torch.argsort({0}, dim={1}, descending={2}, stable={3})",
    .traits = {.not_differentiable = true},
};

constinit const Symbol msort_symbol{
    .signature = "torch.msort(Tensor input) -> Tensor",
    .documentation = "The elements along the first dimension in order.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const auto [values, places] = sort(a[0].tensor(), 0, false, false, at);
          out.push_back(values);
        },
};

constinit const Symbol topk_symbol{
    .signature = "torch.topk(Tensor input, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor, Tensor)",
    .documentation =
        "The k largest (smallest) elements along a dimension, and their places; in order where sorted. Of equal ones "
        "those that PyTorch takes.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          const Tensor& x = a[0].tensor();
          require_order(x);
          const Int k = a[1].integer();
          const int64_t dim = wrap_dim(a[2].integer(), x.ndim());
          const Int size = size_along(x, dim);
          require(k >= 0 && k <= size, "k is ", k.hint(), ", dimension ", dim, " has ", size.hint(), " elements");
          Shape shape = x.shape();
          if (!shape.empty()) shape[dim] = k;
          push_with_indices(x, shape, types);
        },
    .gradient = [](Gradient& g) { gradient_of_taken(g, g.argument(2).integer(), true); },
};

constinit const Symbol kthvalue_symbol{
    .signature = "torch.kthvalue(Tensor input, int k, int dim=-1, bool keepdim=False) -> (Tensor, Tensor)",
    .documentation = "The k-th smallest element along a dimension, counted from 1, and its place.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          const Tensor& x = a[0].tensor();
          require_order(x);
          const Int k = a[1].integer();
          const int64_t dim = wrap_dim(a[2].integer(), x.ndim());
          const Int size = size_along(x, dim);
          require(k >= 1 && k <= size, "k is ", k.hint(), ", dimension ", dim, " has ", size.hint(), " elements");
          push_with_indices(x, chosen_shape(x, dim, a[3].boolean()), types);
        },
    .gradient = [](Gradient& g) { gradient_of_taken(g, g.argument(2).integer(), g.argument(3).boolean()); },
};

constinit const Symbol prims_median_with_indices_symbol{
    .signature = "prims.median_with_indices(Tensor input, int dim, bool keepdim=False) -> (Tensor, Tensor)",
    .documentation =
        "torch.median along a dimension: the lower of the middle elements and its place; the first NaN where there "
        "is one.",
    .infer = infer_median,
    .gradient = [](Gradient& g) { gradient_of_taken(g, g.argument(1).integer(), g.argument(2).boolean()); },
    .python = "torch.median({0}, {1}, {2})",
};

constinit const Symbol prims_nanmedian_with_indices_symbol{
    .signature = "prims.nanmedian_with_indices(Tensor input, int dim, bool keepdim=False) -> (Tensor, Tensor)",
    .documentation =
        "torch.nanmedian along a dimension: the lower of the middle ones of the elements that are numbers, and its "
        "place.",
    .infer = infer_median,
    .gradient = [](Gradient& g) { gradient_of_taken(g, g.argument(1).integer(), g.argument(2).boolean()); },
    .python = "torch.nanmedian({0}, {1}, {2})",
};

constinit const Symbol median_symbol{
    .signature = "torch.median(Tensor input) -> Tensor",
    .documentation = "The middle element, the lower one of two; with a dimension see median(input, dim, keepdim).",
    .decompose = [](Arguments a, Results& out, SourceLocation at) { decompose_median(a, out, at, false); },
    .gradient = gradient_of_median,
};

constinit const Symbol nanmedian_symbol{
    .signature = "torch.nanmedian(Tensor input) -> Tensor",
    .documentation =
        "The middle one of the elements that are numbers; with a dimension see nanmedian(input, dim, keepdim).",
    .decompose = [](Arguments a, Results& out, SourceLocation at) { decompose_median(a, out, at, true); },
    .gradient = gradient_of_median,
};

SymbolList ordering_symbols() {
  static constexpr const Symbol* list[] = {
      &sort_symbol,
      &argsort_symbol,
      &msort_symbol,
      &topk_symbol,
      &kthvalue_symbol,
      &prims_median_with_indices_symbol,
      &prims_nanmedian_with_indices_symbol,
      &median_symbol,
      &nanmedian_symbol,
  };
  return list;
}

}  // namespace fulgurite
