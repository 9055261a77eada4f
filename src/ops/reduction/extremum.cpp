// Maxima and minima, and their indices.
#include <fulgurite/operators.h>

#include "ops/core/families.h"
#include "ops/generated/symbols.h"
#include "ops/reduction/reduction_rules.h"

namespace fulgurite {

namespace {

void infer_extremum(Arguments a, InferredTypes& types) {
  const Tensor& x = a[0].tensor();
  require_elements(x, a[1]);
  types.push_back({reduced_shape(x.shape(), a[1], a[2].boolean()), x.dtype(), x.device()});
}

void infer_index(Arguments a, InferredTypes& types) {
  const Tensor& x = a[0].tensor();
  require_elements(x, a[1]);
  require(!is_boolean(x.dtype()), "not defined for booleans");
  types.push_back({reduced_shape(x.shape(), a[1], a[2].boolean()), Dtype::i64, x.device()});
}

// Equal extrema share the cotangent evenly.
void gradient_of_extremum(Gradient& g) {
  const Tensor x = g.tensor(0);
  const Shape shape = x.shape();
  const bool keepdim = g.argument(2).boolean();
  const Tensor extremum = with_reduced_dims(g.result(), shape, g.argument(1), keepdim);
  const Tensor chosen = eq(x, extremum);
  const Tensor chosen_number = prims::convert_element_type(chosen, x.dtype());
  const Tensor count = sum(chosen_number, as_dims(g.argument(1)), true);
  const Tensor cotangent = with_reduced_dims(g.cotangent(), shape, g.argument(1), keepdim);
  const Tensor share = div(cotangent, count);
  g.set(0, mul(chosen_number, share));
}

// The gradient over all elements. A NaN is the extremum then and shares with the other NaNs, as in PyTorch, whose amax
// and amin have no gradient there.
void gradient_of_total_extremum(Gradient& g) {
  const Tensor x = g.tensor(0);
  const Tensor equal = eq(x, g.result());
  const Tensor missing = isnan(x);
  const Tensor chosen = logical_or(equal, missing);
  const Tensor chosen_number = prims::convert_element_type(chosen, x.dtype());
  const Tensor count = sum(chosen_number);
  const Tensor share = div(g.cotangent(), count);
  g.set(0, mul(chosen_number, share));
}

void infer_with_indices(Arguments a, InferredTypes& types) {
  infer_extremum(a, types);
  types.push_back({types[0].shape, Dtype::i64, types[0].device});
}

void decompose_with_indices(Arguments a, Results& results, SourceLocation at, bool largest) {
  const Tensor& x = a[0].tensor();
  const Int dim = a[1].integer();
  // Booleans have no argmax kernel.
  const Tensor ordered = is_boolean(x.dtype()) ? prims::convert_element_type(x, Dtype::u8, at) : x;
  if (x.ndim() == 0) {
    results.push_back(largest ? amax(x, dim, false, at) : amin(x, dim, false, at));
    results.push_back(largest ? argmax(ordered, dim, false, at) : argmin(ordered, dim, false, at));
    return;
  }
  const Tensor indices = largest ? argmax(ordered, dim, true, at) : argmin(ordered, dim, true, at);
  const Tensor values = gather(x, dim, indices, at);
  if (a[2].boolean()) {
    results.push_back(values);
    results.push_back(indices);
    return;
  }
  results.push_back(squeeze(values, dim, at));
  results.push_back(squeeze(indices, dim, at));
}

}  // namespace

constinit const Symbol amax_symbol{
    .signature = "torch.amax(Tensor input, int[] dim=[], bool keepdim=False) -> Tensor",
    .documentation = "The largest element of all or along dimensions; equal ones share the gradient.",
    .infer = infer_extremum,
    .gradient = gradient_of_extremum,
    .traits = {.reduction = true},
    .semantics = {.reduction = Reduction::largest},
};

constinit const Symbol amin_symbol{
    .signature = "torch.amin(Tensor input, int[] dim=[], bool keepdim=False) -> Tensor",
    .documentation = "The smallest element of all or along dimensions; equal ones share the gradient.",
    .infer = infer_extremum,
    .gradient = gradient_of_extremum,
    .traits = {.reduction = true},
    .semantics = {.reduction = Reduction::smallest},
};

constinit const Symbol argmax_symbol{
    .signature = "torch.argmax(Tensor input, int? dim=None, bool keepdim=False) -> Tensor",
    .documentation = "The index of the first largest element, in the flattened tensor or along a dimension.",
    .infer = infer_index,
    .traits = {.reduction = true, .not_differentiable = true},
};

constinit const Symbol argmin_symbol{
    .signature = "torch.argmin(Tensor input, int? dim=None, bool keepdim=False) -> Tensor",
    .documentation = "The index of the first smallest element, in the flattened tensor or along a dimension.",
    .infer = infer_index,
    .traits = {.reduction = true, .not_differentiable = true},
};

constinit const Symbol max_symbol{
    .signature = "torch.max(Tensor input) -> Tensor",
    .documentation = "The largest element; with a dimension see max(input, dim, keepdim), with a tensor maximum.",
    .decompose = [](Arguments a, Results& results,
                    SourceLocation at) { results.push_back(amax(a[0].tensor(), {}, false, at)); },
    .gradient = gradient_of_total_extremum,
    .traits = {.reduction = true},
};

constinit const Symbol min_symbol{
    .signature = "torch.min(Tensor input) -> Tensor",
    .documentation = "The smallest element; with a dimension see min(input, dim, keepdim), with a tensor minimum.",
    .decompose = [](Arguments a, Results& results,
                    SourceLocation at) { results.push_back(amin(a[0].tensor(), {}, false, at)); },
    .gradient = gradient_of_total_extremum,
    .traits = {.reduction = true},
};

constinit const Symbol prims_max_with_indices_symbol{
    .signature = "prims.max_with_indices(Tensor input, int dim, bool keepdim=False) -> (Tensor, Tensor)",
    .documentation = "torch.max along a dimension: the largest elements and the indices of the first of them.",
    .infer = infer_with_indices,
    .decompose = [](Arguments a, Results& results, SourceLocation at) { decompose_with_indices(a, results, at, true); },
    .python = "torch.max({0}, {1}, {2})",
    .traits = {.reduction = true},
};

constinit const Symbol prims_min_with_indices_symbol{
    .signature = "prims.min_with_indices(Tensor input, int dim, bool keepdim=False) -> (Tensor, Tensor)",
    .documentation = "torch.min along a dimension: the smallest elements and the indices of the first of them.",
    .infer = infer_with_indices,
    .decompose = [](Arguments a, Results& results,
                    SourceLocation at) { decompose_with_indices(a, results, at, false); },
    .python = "torch.min({0}, {1}, {2})",
    .traits = {.reduction = true},
};

SymbolList extremum_symbols() {
  static constexpr const Symbol* list[] = {
      &amax_symbol,
      &amin_symbol,
      &argmax_symbol,
      &argmin_symbol,
      &max_symbol,
      &min_symbol,
      &prims_max_with_indices_symbol,
      &prims_min_with_indices_symbol,
  };
  return list;
}

}  // namespace fulgurite
