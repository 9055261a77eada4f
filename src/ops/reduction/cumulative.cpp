// Scans along a dimension, each result computed from the one before it; cumsum is with the sums.
#include <fulgurite/operators.h>

#include "ops/core/families.h"
#include "ops/elementwise/pointwise_rules.h"
#include "ops/generated/symbols.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {
namespace {

/// x shifted by one along a dimension: each element has the value of the previous (next) one, the first (last) one
/// `edge`.
Tensor moved(const Tensor& x, int64_t dim, bool from_behind, Float edge) {
  const Int rest = x.size(static_cast<int>(dim)) - 1;
  const Tensor kept = narrow(x, dim, from_behind ? 1 : 0, rest);
  Dims low, high;
  low.resize(x.ndim(), 0);
  high.resize(x.ndim(), 0);
  (from_behind ? high : low)[dim] = 1;
  return prims::pad(kept, low, high, edge);
}

bool has_no_lines(const Tensor& x, int64_t dim) { return x.size(static_cast<int>(dim)) == 0; }

void infer_extremum_so_far(Arguments a, InferredTypes& types) {
  const Tensor& x = a[0].tensor();
  wrap_dim(a[1].integer(), x.ndim());
  types.push_back(like(x, x.shape()));
  types.push_back({x.shape(), Dtype::i64, x.device()});
}

void gradient_of_extremum_so_far(Gradient& g) {
  const Tensor nothing = zeros(g.tensor(0).shape(), {.dtype = g.cotangent().dtype(), .device = g.cotangent().device()});
  g.set(0, scatter_add(nothing, g.argument(1).integer(), g.result(1), g.cotangent()));
}

}  // namespace

constinit const Symbol prims_linear_recurrence_symbol{
    .signature = "prims.linear_recurrence(Tensor input, Tensor factor, int dim, bool reverse=False) -> Tensor",
    .documentation =
        "y[i] = input[i] + factor[i] * y[i - 1] along a dimension, from the first element on; with reverse from the "
        "last one back: y[i] = input[i] + factor[i] * y[i + 1]. The factor of the element that begins is not read.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          const Tensor &x = a[0].tensor(), &factor = a[1].tensor();
          require(x.ndim() > 0, "needs at least 1 dimension");
          normalize_dim(a[2].integer(), x.ndim());
          require(is_floating(x.dtype()), "needs a floating dtype, not ", x.dtype());
          require(x.shape() == factor.shape(), "input has shape ", x.shape(), ", factor ", factor.shape());
          require(x.dtype() == factor.dtype(), "input is ", x.dtype(), ", factor ", factor.dtype());
          types.push_back(like(x, x.shape()));
        },
    .gradient =
        [](Gradient& g) {
          const int64_t dim = normalize_dim(g.argument(2).integer(), g.tensor(0).ndim());
          const bool reverse = g.argument(3).boolean();
          if (has_no_lines(g.cotangent(), dim)) {
            if (g.needs(0)) g.set(0, g.cotangent());
            if (g.needs(1)) g.set(1, g.cotangent());
            return;
          }
          const Tensor factor = moved(g.tensor(1), dim, !reverse, 0.0);
          const Tensor cotangent = prims::linear_recurrence(g.cotangent(), factor, dim, !reverse);
          if (g.needs(0)) g.set(0, cotangent);
          if (!g.needs(1)) return;
          const Tensor before = moved(g.result(), dim, reverse, 0.0);
          g.set(1, mul(cotangent, before));
        },
    .python = "linear_recurrence({0}, {1}, {2}, {3})",
    .python_definition =
        "def linear_recurrence(x, factor, dim, reverse):\n"
        "  xs, factors, ys = x.unbind(dim), factor.unbind(dim), []\n"
        "  for i in reversed(range(len(xs))) if reverse else range(len(xs)):\n"
        "    ys.append(xs[i] + factors[i] * ys[-1] if ys else xs[i])\n"
        "  return torch.stack(ys[::-1] if reverse else ys, dim) if ys else x.clone()\n",
};

constinit const Symbol cumprod_symbol{
    .signature = "torch.cumprod(Tensor input, int dim, *, Dtype? dtype=None) -> Tensor",
    .documentation = "At each place the product of the elements up to it along a dimension; of integers in i64.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          const Tensor& x = a[0].tensor();
          wrap_dim(a[1].integer(), x.ndim());
          const Dtype dtype = a[2].optional_dtype().value_or(is_floating(x.dtype()) ? x.dtype() : Dtype::i64);
          types.push_back({x.shape(), dtype, x.device()});
        },
    // The results from i on are multiples of x[i]: its gradient is the product of the elements before it times s[i] =
    // g[i] + x[i + 1] s[i + 1]. There is no division, so zeros are not special.
    .gradient =
        [](Gradient& g) {
          if (g.tensor(0).ndim() == 0) return g.set(0, g.cotangent());
          const int64_t dim = normalize_dim(g.argument(1).integer(), g.tensor(0).ndim());
          if (has_no_lines(g.cotangent(), dim)) return g.set(0, g.cotangent());
          const Int length = g.tensor(0).size(static_cast<int>(dim));
          if (!length.is_symbolic() && length.hint() == 1) return g.set(0, g.cotangent());
          Tensor x = g.tensor(0);
          if (x.dtype() != g.result().dtype()) x = prims::convert_element_type(x, g.result().dtype());
          const Tensor factor = moved(x, dim, true, 0.0);
          const Tensor sums = prims::linear_recurrence(g.cotangent(), factor, dim, true);
          const Tensor before = moved(g.result(), dim, false, 1.0);
          g.set(0, mul(before, sums));
        },
    .traits = {.has_in_place_form = true},
};

constinit const Symbol logcumsumexp_symbol{
    .signature = "torch.logcumsumexp(Tensor input, int dim) -> Tensor",
    .documentation =
        "At each place the logarithm of the sum of exp of the elements up to it along a dimension, without overflow "
        "on the way.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          const Tensor& x = a[0].tensor();
          wrap_dim(a[1].integer(), x.ndim());
          require(is_floating(x.dtype()), "needs a floating dtype, not ", x.dtype());
          types.push_back(like(x, x.shape()));
        },
    // In y[j] each x[i] up to it has the share exp(x[i] - y[j]) = exp(x[i] - y[i]) exp(y[i] - y[i + 1]) …, with all
    // factors at most 1.
    .gradient =
        [](Gradient& g) {
          if (g.tensor(0).ndim() == 0) return g.set(0, g.cotangent());
          const int64_t dim = normalize_dim(g.argument(1).integer(), g.tensor(0).ndim());
          if (has_no_lines(g.cotangent(), dim)) return g.set(0, g.cotangent());
          const Tensor y = g.result();
          const Int rest = y.size(static_cast<int>(dim)) - 1;
          const Tensor now = narrow(y, dim, 0, rest);
          const Tensor next = narrow(y, dim, 1, rest);
          const Tensor difference = sub(now, next);
          const Tensor same = eq(now, next);
          const Tensor is_infinite = isinf(now);
          const Tensor stays_infinite = logical_and(same, is_infinite);
          const Tensor exponent = where(stays_infinite, 0.0, difference);
          const Tensor shares = exp(exponent);
          Dims low, high;
          low.resize(y.ndim(), 0);
          high.resize(y.ndim(), 0);
          high[dim] = 1;
          const Tensor factor = prims::pad(shares, low, high, 0.0);
          const Tensor sums = prims::linear_recurrence(g.cotangent(), factor, dim, true);
          const Tensor own_exponent = sub(g.tensor(0), y);
          const Tensor own_share = exp(own_exponent);
          g.set(0, mul(own_share, sums));
        },
};

constinit const Symbol cummax_symbol{
    .signature = "torch.cummax(Tensor input, int dim) -> (Tensor, Tensor)",
    .documentation =
        "At each place the largest of the elements up to it along a dimension, and the place of the last one that is "
        "it.",
    .infer = infer_extremum_so_far,
    .gradient = gradient_of_extremum_so_far,
};

constinit const Symbol cummin_symbol{
    .signature = "torch.cummin(Tensor input, int dim) -> (Tensor, Tensor)",
    .documentation =
        "At each place the smallest of the elements up to it along a dimension, and the place of the last one that "
        "is it.",
    .infer = infer_extremum_so_far,
    .gradient = gradient_of_extremum_so_far,
};

SymbolList cumulative_symbols() {
  static constexpr const Symbol* list[] = {&cumprod_symbol, &logcumsumexp_symbol, &cummax_symbol, &cummin_symbol,
                                           &prims_linear_recurrence_symbol};
  return list;
}

}  // namespace fulgurite
