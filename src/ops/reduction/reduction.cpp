// Reductions: sums, products, means, any and all.
#include <fulgurite/operators.h>

#include "ops/core/families.h"
#include "ops/elementwise/pointwise_rules.h"
#include "ops/generated/symbols.h"
#include "ops/reduction/reduction_rules.h"

namespace fulgurite {

namespace {

// Sums and products of integers and booleans accumulate in i64.
Dtype accumulated_dtype(const Tensor& input, const Argument& dtype) {
  if (!dtype.is_none()) return dtype.dtype();
  return is_floating(input.dtype()) ? input.dtype() : Dtype::i64;
}

void infer_sum(Arguments a, InferredTypes& types) {
  const Tensor& x = a[0].tensor();
  types.push_back({reduced_shape(x.shape(), a[1], a[2].boolean()), accumulated_dtype(x, a[3]), x.device()});
}

void infer_truth(Arguments a, InferredTypes& types) {
  const Tensor& x = a[0].tensor();
  const Dtype dtype = x.dtype() == Dtype::u8 ? Dtype::u8 : Dtype::boolean;
  types.push_back({reduced_shape(x.shape(), a[1], a[2].boolean()), dtype, x.device()});
}

/// For each element along `dim`, the product of those before it (after it, if `behind`). log2(n) steps, and correct at
/// zeros, unlike a division by the element.
Tensor product_of_others(const Tensor& x, int64_t dim, bool behind) {
  const int64_t count = x.shape()[dim];
  Tensor product = x;
  // The first step shifts, the others double the range of a product.
  for (int64_t step = 1, round = 0; step < count || round == 0; step = round == 0 ? 1 : 2 * step, ++round) {
    Shape edge = x.shape();
    edge[dim] = step;
    const Tensor kept = narrow(product, dim, behind ? step : 0, count - step);
    const Tensor one = ones(edge, {.dtype = x.dtype(), .device = x.device()});
    const Tensor shifted = behind ? cat({kept, one}, dim) : cat({one, kept}, dim);
    product = round == 0 ? shifted : mul(product, shifted);
  }
  return product;
}

void gradient_of_product(Gradient& g) {
  Tensor x = g.tensor(0);
  const Shape shape = x.shape();
  if (!shape.is_symbolic() && shape.numel() == 0) {
    g.set(0, zeros_of(x));
    return;
  }
  if (x.dtype() != g.result().dtype()) x = prims::convert_element_type(x, g.result().dtype());
  const bool whole = g.argument(1).is_none() || shape.empty();
  const int64_t dim = whole ? 0 : normalize_dim(g.argument(1).integer(), static_cast<int64_t>(shape.size()));
  if (whole) x = reshape(x, {-1});
  const Tensor before = product_of_others(x, dim, false);
  const Tensor behind = product_of_others(x, dim, true);
  const Tensor slope = mul(before, behind);
  Tensor cotangent = g.cotangent();
  if (!whole && !g.argument(2).boolean()) cotangent = unsqueeze(cotangent, dim);
  if (whole) cotangent = reshape(cotangent, {1});
  const Tensor scaled = mul(cotangent, slope);
  g.set(0, whole ? reshape(scaled, shape) : scaled);
}

}  // namespace

constinit const Symbol sum_symbol{
    .signature = "torch.sum(Tensor input, int[]? dim=None, bool keepdim=False, *, Dtype? dtype=None) -> Tensor",
    .documentation = "The sum over all elements, or along dimensions; of integers in i64.",
    .infer = infer_sum,
    .gradient =
        [](Gradient& g) {
          g.set(0, expanded_to_input(g.cotangent(), g.tensor(0).shape(), g.argument(1), g.argument(2).boolean()));
        },
    .traits = {.reduction = true},
    .semantics = {.linearity = Linearity::first, .reduction = Reduction::sum},
};

constinit const Symbol mean_symbol{
    .signature = "torch.mean(Tensor input, int[]? dim=None, bool keepdim=False, *, Dtype? dtype=None) -> Tensor",
    .documentation = "The mean of all elements, or along dimensions; the dtype must be floating.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          const Tensor& x = a[0].tensor();
          const Dtype dtype = a[3].is_none() ? x.dtype() : a[3].dtype();
          require(is_floating(dtype), "the mean needs a floating dtype, not ", dtype, "; give one with dtype");
          types.push_back({reduced_shape(x.shape(), a[1], a[2].boolean()), dtype, x.device()});
        },
    .gradient =
        [](Gradient& g) {
          const Shape shape = g.tensor(0).shape();
          const Tensor spread = expanded_to_input(g.cotangent(), shape, g.argument(1), g.argument(2).boolean());
          g.set(0, div(spread, reduced_count(shape, g.argument(1))));
        },
    .traits = {.reduction = true},
    .semantics = {.reduction = Reduction::mean},
};

constinit const Symbol prod_symbol{
    .signature = "torch.prod(Tensor input, int? dim=None, bool keepdim=False, *, Dtype? dtype=None) -> Tensor",
    .documentation = "The product of all elements, or along a dimension; of integers in i64.",
    .infer = infer_sum,
    .gradient = gradient_of_product,
    .traits = {.reduction = true},
    .semantics = {.autocast = AutocastPolicy::wide},
};

constinit const Symbol any_symbol{
    .signature = "torch.any(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor",
    .documentation = "True if any element is true or not zero, of all or along dimensions.",
    .infer = infer_truth,
    .traits = {.reduction = true, .not_differentiable = true},
};

constinit const Symbol all_symbol{
    .signature = "torch.all(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor",
    .documentation = "True if every element is true or not zero, of all or along dimensions.",
    .infer = infer_truth,
    .traits = {.reduction = true, .not_differentiable = true},
};

constinit const Symbol cumsum_symbol{
    .signature = "torch.cumsum(Tensor input, int dim, *, Dtype? dtype=None) -> Tensor",
    .documentation = "At each place the sum of the elements up to it along a dimension; of integers in i64.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          const Tensor& x = a[0].tensor();
          normalize_dim(a[1].integer(), x.ndim());
          types.push_back({x.shape(), accumulated_dtype(x, a[2]), x.device()});
        },
    .gradient =
        [](Gradient& g) {
          if (g.tensor(0).ndim() == 0) return g.set(0, g.cotangent());
          const Int dim = g.argument(1).integer();
          const Tensor reversed = flip(g.cotangent(), dim);
          const Tensor summed = cumsum(reversed, dim);
          g.set(0, flip(summed, dim));
        },
    .traits = {.has_in_place_form = true},
};

SymbolList reduction_symbols() {
  static constexpr const Symbol* list[] = {
      &sum_symbol, &mean_symbol, &prod_symbol, &any_symbol, &all_symbol, &cumsum_symbol,
  };
  return list;
}

}  // namespace fulgurite
