// Variance, norms and similar: composites of sums.
#include <cmath>

#include <fulgurite/operators.h>

#include "ops/core/families.h"
#include "ops/core/precision.h"
#include "ops/elementwise/pointwise_rules.h"
#include "ops/generated/symbols.h"
#include "ops/reduction/reduction_rules.h"

namespace fulgurite {

namespace {

void infer_variance(Arguments a, InferredTypes& types) {
  const Tensor& x = a[0].tensor();
  require(is_floating(x.dtype()), "needs a floating dtype, not ", x.dtype());
  types.push_back({reduced_shape(x.shape(), a[1], a[3].boolean()), x.dtype(), x.device()});
}

void infer_variance_and_mean(Arguments a, InferredTypes& types) {
  infer_variance(a, types);
  types.push_back(types[0]);
}

Float correction_of(Arguments a) { return a[2].is_none() ? Float(1) : a[2].floating(); }

/// The cotangent of x from that of its variance.
Tensor variance_backward(const Tensor& cotangent, Arguments a, const Tensor& average) {
  const Shape shape = a[0].tensor().shape();
  const Float denominator = reduced_count(shape, a[1]) - correction_of(a);
  const Tensor full = with_reduced_dims(cotangent, shape, a[1], a[3].boolean());
  const Tensor slope = mul(full, 2 / denominator);
  const Tensor centered = sub(a[0].tensor(), average);
  return mul(centered, slope);
}
Tensor variance_backward(const Tensor& cotangent, Arguments a) {
  return variance_backward(cotangent, a, mean(a[0].tensor(), as_dims(a[1]), true));
}

/// The gradient of variance and mean, reusing the mean.
void gradient_of_variance_and_mean(Gradient& g) {
  const Tensor x = g.tensor(0);
  const Shape shape = x.shape();
  const bool keepdim = g.argument(3).boolean();
  Tensor dx;
  if (g.cotangent(0).defined()) {
    // For 16-bit types the returned mean is rounded.
    const Tensor average = compute_dtype(x.dtype()) == x.dtype()
                               ? with_reduced_dims(g.result(1), shape, g.argument(1), keepdim)
                               : mean(x, as_dims(g.argument(1)), true);
    dx = variance_backward(g.cotangent(0), g.arguments(), average);
  }
  if (g.cotangent(1).defined()) {
    const Tensor full = with_reduced_dims(g.cotangent(1), shape, g.argument(1), keepdim);
    const Tensor share = div(full, reduced_count(shape, g.argument(1)));
    dx = dx.defined() ? add(dx, share) : expand(share, shape);
  }
  if (dx.defined()) g.set(0, dx);
}

/// a / b, and zero where b is. The NaN quotient there must not enter this function's gradient either.
Tensor quotient_or_zero(const Tensor& a, const Tensor& b) {
  const Tensor flat = eq(b, 0);
  const Tensor divisor = masked_fill(b, flat, 1);
  const Tensor quotient = div(a, divisor);
  return masked_fill(quotient, flat, 0);
}

/// The cotangent of a square root's operand; zero where the root is, since the slope is infinite.
Tensor root_backward(const Tensor& cotangent, const Tensor& root) {
  const Tensor twice = mul(root, 2);
  return quotient_or_zero(cotangent, twice);
}

void decompose_norm(Arguments a, Results& results, SourceLocation at) {
  Tensor x = a[0].tensor();
  const Float order = a[1].floating();
  const Dims dims = as_dims(a[2]);
  const bool keepdim = a[3].boolean();
  if (!a[4].is_none() && a[4].dtype() != x.dtype()) x = prims::convert_element_type(x, a[4].dtype(), at);
  // The norm of one element is its absolute value; its power could overflow.
  const bool is_size = order == 1 || (order != 0 && reduced_count(x.shape(), a[2]) == 1);
  if (order == 2 && !is_size) {
    const Tensor squares = mul(x, x, at);
    const Tensor total = sum(squares, dims, keepdim, {}, at);
    results.push_back(sqrt(total, at));
    return;
  }
  if (order == 0) {
    const Tensor nonzero = ne(x, 0, at);
    results.push_back(sum(nonzero, dims, keepdim, x.dtype(), at));
    return;
  }
  const Tensor magnitude = abs(x, at);
  if (order == INFINITY) return results.push_back(amax(magnitude, dims, keepdim, at));
  if (order == -INFINITY) return results.push_back(amin(magnitude, dims, keepdim, at));
  if (is_size) return results.push_back(sum(magnitude, dims, keepdim, {}, at));
  const Tensor powers = pow(magnitude, order, at);
  const Tensor total = sum(powers, dims, keepdim, {}, at);
  results.push_back(pow(total, 1 / order, at));
}

}  // namespace

Tensor norm_backward(const Tensor& cotangent, const Tensor& x, const Tensor& norm, Float order, const Dims& dims) {
  if (order == 0) return zeros_of(x);
  if (order == 1 || x.numel() == norm.numel()) {
    const Tensor direction = sign(x);
    return mul(cotangent, direction);
  }
  if (order == INFINITY || order == -INFINITY) {
    const Tensor magnitude = abs(x);
    const Tensor equal = eq(magnitude, norm);
    const Tensor missing = isnan(x);  // is the norm then, and has no direction
    const Tensor chosen = logical_or(equal, missing);
    const Tensor chosen_number = prims::convert_element_type(chosen, x.dtype());
    const Tensor count = sum(chosen_number, dims, true);
    const Tensor share = div(cotangent, count);
    const Tensor direction = sign(x);
    const Tensor signed_choice = mul(direction, chosen_number);
    return mul(signed_choice, share);
  }
  if (order == 2) {
    const Tensor scale = quotient_or_zero(cotangent, norm);
    return mul(x, scale);
  }
  const Tensor flat = eq(norm, 0);
  const Tensor harmless = masked_fill(norm, flat, 1);
  const Tensor norm_power = pow(harmless, order - 1);
  const Tensor quotient = div(cotangent, norm_power);
  const Tensor scale = masked_fill(quotient, flat, 0);
  const Tensor magnitude = abs(x);
  const Tensor power = pow(magnitude, order - 1);
  const Tensor direction = sign(x);
  const Tensor slope = mul(direction, power);
  // Below order 1 the slope at zero is infinite; PyTorch returns zero.
  const Tensor at_zero = eq(x, 0);
  const Tensor finite = masked_fill(slope, at_zero, 0);
  return mul(finite, scale);
}

namespace {

void gradient_of_norm(Gradient& g) {
  Tensor x = g.tensor(0);
  if (x.dtype() != g.result().dtype()) x = prims::convert_element_type(x, g.result().dtype());
  const Shape shape = x.shape();
  const bool keepdim = g.argument(3).boolean();
  const Tensor cotangent = with_reduced_dims(g.cotangent(), shape, g.argument(2), keepdim);
  const Tensor norm = with_reduced_dims(g.result(), shape, g.argument(2), keepdim);
  g.set(0, norm_backward(cotangent, x, norm, g.argument(1).floating(), as_dims(g.argument(2))));
}

void decompose_logsumexp(Arguments a, Results& results, SourceLocation at) {
  Tensor x = a[0].tensor();
  if (!is_floating(x.dtype())) x = prims::convert_element_type(x, default_dtype(), at);
  const Dims dims = as_dims(a[1]);
  if (reduced_count(x.shape(), a[1]) == 0) {  // there is no maximum, and nothing to sum
    const Tensor exponentials = exp(x, at);
    const Tensor total = sum(exponentials, dims, a[2].boolean(), {}, at);
    return results.push_back(log(total, at));
  }
  const Tensor largest = amax(x, dims, true, at);
  const Tensor infinite = isinf(largest, at);
  const Tensor shift = masked_fill(largest, infinite, 0, at);
  const Tensor shifted = sub(x, shift, 1, at);
  const Tensor exponentials = exp(shifted, at);
  const Tensor total = sum(exponentials, dims, a[2].boolean(), {}, at);
  const Tensor logarithm = log(total, at);
  const Tensor shift_reduced = a[2].boolean() ? shift : reshape(shift, logarithm.shape(), at);
  results.push_back(add(logarithm, shift_reduced, 1, at));
}

}  // namespace

constinit const Symbol var_symbol{
    .signature = "torch.var(Tensor input, int[]? dim=None, *, float? correction=1, bool keepdim=False) -> Tensor",
    .documentation = "The variance of all elements, or along dimensions, divided by the count less correction.",
    .infer = infer_variance,
    .gradient = [](Gradient& g) { g.set(0, variance_backward(g.cotangent(), g.arguments())); },
    .traits = {.reduction = true},
    .semantics = {.reduction = Reduction::variance},
};

constinit const Symbol std_symbol{
    .signature = "torch.std(Tensor input, int[]? dim=None, *, float? correction=1, bool keepdim=False) -> Tensor",
    .documentation = "The standard deviation: the square root of var.",
    .infer = infer_variance,
    .decompose =
        [](Arguments a, Results& results, SourceLocation at) {
          const Tensor variance = var(a[0].tensor(), as_dims(a[1]), correction_of(a), a[3].boolean(), at);
          results.push_back(sqrt(variance, at));
        },
    .gradient =
        [](Gradient& g) {
          const Tensor cotangent = root_backward(g.cotangent(), g.result());
          g.set(0, variance_backward(cotangent, g.arguments()));
        },
    .traits = {.reduction = true},
};

constinit const Symbol var_mean_symbol{
    .signature =
        "torch.var_mean(Tensor input, int[]? dim=None, *, float? correction=1, bool keepdim=False) -> (Tensor, Tensor)",
    .documentation = "The variance and the mean of all elements, or along dimensions.",
    .infer = infer_variance_and_mean,
    .decompose =
        [](Arguments a, Results& results, SourceLocation at) {
          const Dims dims = as_dims(a[1]);
          results.push_back(var(a[0].tensor(), dims, correction_of(a), a[3].boolean(), at));
          results.push_back(mean(a[0].tensor(), dims, a[3].boolean(), {}, at));
        },
    .gradient = gradient_of_variance_and_mean,
    .traits = {.reduction = true},
};

constinit const Symbol std_mean_symbol{
    .signature =
        "torch.std_mean(Tensor input, int[]? dim=None, *, float? correction=1, bool keepdim=False) -> (Tensor, Tensor)",
    .documentation = "The standard deviation and the mean of all elements, or along dimensions.",
    .infer = infer_variance_and_mean,
    .decompose =
        [](Arguments a, Results& results, SourceLocation at) {
          const Dims dims = as_dims(a[1]);
          results.push_back(std(a[0].tensor(), dims, correction_of(a), a[3].boolean(), at));
          results.push_back(mean(a[0].tensor(), dims, a[3].boolean(), {}, at));
        },
    .traits = {.reduction = true},
};

constinit const Symbol logsumexp_symbol{
    .signature = "torch.logsumexp(Tensor input, int[] dim, bool keepdim=False) -> Tensor",
    .documentation = "The logarithm of the sum of exponentials along dimensions, without overflow.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          const Tensor& x = a[0].tensor();
          types.push_back({reduced_shape(x.shape(), a[1], a[2].boolean()), floating_or_default(x.dtype()), x.device()});
        },
    .decompose = decompose_logsumexp,
    .gradient =
        [](Gradient& g) {
          const Shape shape = g.tensor(0).shape();
          const bool keepdim = g.argument(2).boolean();
          const Tensor result = with_reduced_dims(g.result(), shape, g.argument(1), keepdim);
          const Tensor cotangent = with_reduced_dims(g.cotangent(), shape, g.argument(1), keepdim);
          const Tensor difference = sub(g.tensor(0), result);
          const Tensor weight = exp(difference);
          g.set(0, mul(cotangent, weight));
        },
    .traits = {.reduction = true},
};

constinit const Symbol vector_norm_symbol{
    .signature =
        "torch.linalg.vector_norm(Tensor x, float ord=2, int[]? dim=None, bool keepdim=False, *, Dtype? dtype=None) "
        "-> Tensor",
    .documentation = "The norm of order ord of all elements, or along dimensions.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          const Tensor& x = a[0].tensor();
          require(is_floating(x.dtype()), "needs a floating dtype, not ", x.dtype());
          const Dtype dtype = a[4].is_none() ? x.dtype() : a[4].dtype();
          types.push_back({reduced_shape(x.shape(), a[2], a[3].boolean()), dtype, x.device()});
        },
    .decompose = decompose_norm,
    .gradient = gradient_of_norm,
    .traits = {.reduction = true},
};

SymbolList statistics_symbols() {
  static constexpr const Symbol* list[] = {
      &var_symbol, &std_symbol, &var_mean_symbol, &std_mean_symbol, &logsumexp_symbol, &vector_norm_symbol,
  };
  return list;
}

}  // namespace fulgurite
