// Regression and probability losses: Huber, Kullback-Leibler, Poisson, Gaussian, binary cross entropy.
#include <fulgurite/operators.h>

#include "ops/core/families.h"
#include "ops/core/precision.h"
#include "ops/elementwise/pointwise_rules.h"
#include "ops/generated/symbols.h"
#include "ops/loss/loss_rules.h"

namespace fulgurite {

namespace {

constexpr double two_pi = 6.283185307179586, half_log_two_pi = 0.9189385332046727;

/// Losses of bf16 and f16 are computed in f32 and rounded once.
Tensor wide(const Tensor& x, SourceLocation at) { return as_dtype(x, compute_dtype(x.dtype()), at); }
Dtype result_of(Arguments tensors) { return floating_or_default(result_dtype(tensors)); }

/// (scale * d)^2 / 2 near zero, |d| - width / 2 (times slope) from `width` on.
Tensor bent(const Tensor& difference, Float width, Float square_scale, Float slope, bool includes_bend,
            SourceLocation at) {
  const Tensor size = abs(difference, at);
  const Tensor is_near = includes_bend ? le(size, width, at) : lt(size, width, at);
  const Tensor near = where(is_near, size, 0, at);  // avoids 0 * infinity in the gradient
  const Tensor square = mul(near, near, at);
  const Tensor inner = mul(square, square_scale, at);
  const Tensor lowered = sub(size, 0.5 * width, 1, at);
  const Tensor outer = slope == 1.0 ? lowered : mul(lowered, slope, at);
  return where(is_near, inner, outer, at);
}

/// As in PyTorch, whose slope at the probabilities 0 and 1 is finite.
void gradient_of_binary_cross_entropy(Gradient& g) {
  const SourceLocation at;
  const std::string_view reduction = reduction_of(g.argument(3), g.argument(4), g.argument(5));
  const Tensor x = wide(g.tensor(0), at);
  const Tensor target = wide(g.tensor(1), at);
  const bool is_weighted = g.tensor(2).defined();
  const Shape shape = is_weighted ? broadcast_shapes(x.shape(), g.tensor(2).shape()) : x.shape();
  const Tensor cotangent = unreduced(wide(g.cotangent(), at), shape, reduction);
  const Tensor weighted = is_weighted ? mul(cotangent, g.tensor(2)) : cotangent;
  if (g.needs(0)) {
    const Tensor rest = sub(1, x);
    const Tensor product = mul(x, rest);
    const Tensor divisor = clamp_min(product, 1e-12);
    const Tensor gap = sub(x, target);
    const Tensor slope = div(gap, divisor);
    g.set(0, mul(weighted, slope));
  }
  if (g.needs(1)) {
    const Tensor opposite = neg(x);
    const Tensor rest_logarithm = log1p(opposite);
    const Tensor logarithm = log(x);
    const Tensor slope = sub(rest_logarithm, logarithm);
    g.set(1, mul(weighted, slope));
  }
  if (is_weighted && g.needs(2)) {
    const Tensor loss = nn::binary_cross_entropy(x, target, {}, {}, {}, "none");
    g.set(2, mul(cotangent, loss));
  }
}

}  // namespace

constinit const Symbol smooth_l1_loss_symbol{
    .signature =
        "torch.nn.functional.smooth_l1_loss(Tensor input, Tensor target, bool? size_average=None, bool? reduce=None, "
        "str reduction='mean', float beta=1.0) -> Tensor",
    .documentation =
        "Half the squared difference over beta where that is below beta, else the absolute difference less beta / 2.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const std::string_view reduction = reduction_of(a[2], a[3], a[4]);
          const Float beta = a[5].floating();
          require(beta >= 0.0, "beta must not be negative: ", beta.hint());
          const Tensor x = wide(a[0].tensor(), at);
          const Tensor target = wide(a[1].tensor(), at);
          const Tensor difference = sub(x, target, 1, at);
          const Tensor loss = beta == 0.0 ? abs(difference, at) : bent(difference, beta, 0.5 / beta, 1.0, false, at);
          warn_of_broadcasting("smooth_l1_loss", a[0].tensor(), a[1].tensor(), at);
          const Tensor result = reduced(loss, reduction, at);
          out.push_back(as_dtype(result, result_of(a.first(2)), at));
        },
    .semantics = {.autocast = AutocastPolicy::wide},
};

constinit const Symbol huber_loss_symbol{
    .signature =
        "torch.nn.functional.huber_loss(Tensor input, Tensor target, str reduction='mean', float delta=1.0, "
        "Tensor? weight=None) -> Tensor",
    .documentation = "Half the squared difference up to delta, from there on a line.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const std::string_view reduction = reduction_of(Argument(), Argument(), a[2]);
          const Float delta = a[3].floating();
          require(delta > 0.0, "delta must be positive, not ", delta.hint());
          const Tensor x = wide(a[0].tensor(), at);
          const Tensor target = wide(a[1].tensor(), at);
          const Tensor difference = sub(x, target, 1, at);
          Tensor loss = bent(difference, delta, 0.5, delta, true, at);
          warn_of_broadcasting("huber_loss", a[0].tensor(), a[1].tensor(), at);
          if (const Tensor& weight = a[4].tensor_or_none(); weight.defined()) {
            require(weight.shape() == loss.shape(), "weight has shape ", weight.shape(), ", the loss ", loss.shape());
            loss = mul(loss, weight, at);
          }
          const Tensor result = reduced(loss, reduction, at);
          out.push_back(as_dtype(result, result_of(a.first(2)), at));
        },
    .semantics = {.autocast = AutocastPolicy::wide},
};

constinit const Symbol kl_div_symbol{
    .signature =
        "torch.nn.functional.kl_div(Tensor input, Tensor target, bool? size_average=None, bool? reduce=None, "
        "str reduction='mean', bool log_target=False) -> Tensor",
    .documentation =
        "The divergence of the target's distribution from the one whose logarithm is input; \"batchmean\" divides by "
        "the first size.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          // As in PyTorch, the older arguments choose the reduction, but not the division.
          const bool by_batch = a[4].string() == "batchmean", is_new = a[2].is_none() && a[3].is_none();
          const std::string_view reduction = by_batch && is_new ? "sum" : reduction_of(a[2], a[3], a[4]);
          const Tensor x = wide(a[0].tensor(), at);
          const Tensor target = wide(a[1].tensor(), at);
          Tensor loss;
          if (a[5].boolean()) {
            const Tensor weight = exp(target, at);
            const Tensor difference = sub(target, x, 1, at);
            loss = mul(weight, difference, at);
          } else {
            const Tensor own = xlogy(target, target, at);
            const Tensor cross = mul(target, x, at);
            loss = sub(own, cross, 1, at);
          }
          Tensor result = reduced(loss, reduction, at);
          if (by_batch && x.ndim() > 0) result = div(result, a[0].tensor().size(0), {}, at);
          out.push_back(as_dtype(result, result_of(a.first(2)), at));
        },
    .semantics = {.autocast = AutocastPolicy::wide},
};

constinit const Symbol poisson_nll_loss_symbol{
    .signature =
        "torch.nn.functional.poisson_nll_loss(Tensor input, Tensor target, bool log_input=True, bool full=False, "
        "bool? size_average=None, float eps=1e-8, bool? reduce=None, str reduction='mean') -> Tensor",
    .documentation =
        "Minus the log-likelihood of Poisson counts whose rate (or its logarithm) is input; full adds Stirling's "
        "approximation of the counts' factorials.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const std::string_view reduction = reduction_of(a[4], a[6], a[7]);
          const Tensor x = wide(a[0].tensor(), at);
          const Tensor target = wide(a[1].tensor(), at);
          Tensor loss;
          if (a[2].boolean()) {
            const Tensor rate = exp(x, at);
            const Tensor expected = mul(target, x, at);
            loss = sub(rate, expected, 1, at);
          } else {
            const Tensor raised = add(x, a[5].floating(), 1, at);
            const Tensor logarithm = log(raised, at);
            const Tensor expected = mul(target, logarithm, at);
            loss = sub(x, expected, 1, at);
          }
          if (a[3].boolean()) {
            const Tensor counts = gt(target, 1, at);
            const Tensor harmless = where(counts, target, 1, at);
            const Tensor logarithm = log(harmless, at);
            const Tensor power = mul(harmless, logarithm, at);
            const Tensor lowered = sub(power, harmless, 1, at);
            const Tensor scaled = mul(harmless, two_pi, at);
            const Tensor scaled_logarithm = log(scaled, at);
            const Tensor half = mul(scaled_logarithm, 0.5, at);
            const Tensor stirling = add(lowered, half, 1, at);
            const Tensor counted = where(counts, stirling, 0.0, at);
            loss = add(loss, counted, 1, at);
          }
          const Tensor result = reduced(loss, reduction, at);
          out.push_back(as_dtype(result, result_of(a.first(2)), at));
        },
    .semantics = {.autocast = AutocastPolicy::wide},
};

constinit const Symbol gaussian_nll_loss_symbol{
    .signature =
        "torch.nn.functional.gaussian_nll_loss(Tensor input, Tensor target, Tensor var, bool full=False, float "
        "eps=1e-6, str reduction='mean') -> Tensor",
    .documentation =
        "Minus the log-likelihood of targets that are normal around input with variances var, each at least eps.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor x = wide(a[0].tensor(), at);
          const Tensor target = wide(a[1].tensor(), at);
          const std::string_view reduction = reduction_of(Argument(), Argument(), a[5]);
          require(a[4].floating() > 0.0, "eps must be positive, not ", a[4].floating().hint());
          Tensor variance = wide(a[2].tensor(), at);
          const Shape sizes = x.shape(), given = variance.shape();
          if (!(given == sizes)) {
            Shape leading = sizes;
            if (!leading.empty()) leading.erase(leading.size() - 1);
            Shape with_one = leading;
            with_one.push_back(1);
            require(given == leading || given == with_one || variance.numel() == 1, "var has shape ", given,
                    ", the input ", sizes,
                    "; it must be that shape, or that shape without its last size or with 1 in its place");
            if (given == leading && !sizes.empty()) variance = unsqueeze(variance, -1, at);
          }
          const Tensor divisor = raised_to(variance, a[4].floating(), at);
          const Tensor difference = sub(x, target, 1, at);
          const Tensor square = mul(difference, difference, at);
          const Tensor distance = div(square, divisor, {}, at);
          const Tensor logarithm = log(divisor, at);
          const Tensor sum = add(logarithm, distance, 1, at);
          Tensor loss = mul(sum, 0.5, at);
          if (a[3].boolean()) loss = add(loss, half_log_two_pi, 1, at);
          const Tensor result = reduced(loss, reduction, at);
          out.push_back(as_dtype(result, result_of(a.first(2)), at));
        },
};

constinit const Symbol binary_cross_entropy_symbol{
    .signature =
        "torch.nn.functional.binary_cross_entropy(Tensor input, Tensor target, Tensor? weight=None, bool? "
        "size_average=None, bool? reduce=None, str reduction='mean') -> Tensor",
    .documentation = "The cross entropy of probabilities against targets from 0 to 1; logarithms are cut at -100.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const std::string_view reduction = reduction_of(a[3], a[4], a[5]);
          require(a[0].tensor().shape() == a[1].tensor().shape(), "target has shape ", a[1].tensor().shape(),
                  ", the input ", a[0].tensor().shape());
          const Tensor x = wide(a[0].tensor(), at);
          const Tensor target = wide(a[1].tensor(), at);
          const Tensor exact_logarithm = log(x, at);
          const Tensor logarithm = clamp_min(exact_logarithm, -100, at);
          const Tensor opposite = neg(x, at);
          const Tensor exact_rest = log1p(opposite, at);
          const Tensor rest_logarithm = clamp_min(exact_rest, -100, at);
          const Tensor positive = mul(target, logarithm, at);
          const Tensor rest = sub(1, target, 1, at);
          const Tensor negative = mul(rest, rest_logarithm, at);
          const Tensor likelihood = add(positive, negative, 1, at);
          Tensor loss = neg(likelihood, at);
          if (a[2].tensor_or_none().defined()) {
            const Tensor weight = wide(a[2].tensor(), at);
            loss = mul(loss, weight, at);
          }
          const Tensor result = reduced(loss, reduction, at);
          out.push_back(as_dtype(result, result_of(a.first(2)), at));
        },
    .gradient = gradient_of_binary_cross_entropy,
    .semantics = {.autocast = AutocastPolicy::wide},
};

constinit const Symbol binary_cross_entropy_with_logits_symbol{
    .signature =
        "torch.nn.functional.binary_cross_entropy_with_logits(Tensor input, Tensor target, Tensor? weight=None, "
        "bool? size_average=None, bool? reduce=None, str reduction='mean', Tensor? pos_weight=None) -> Tensor",
    .documentation =
        "binary_cross_entropy of sigmoid(input), without overflow on the way; pos_weight weighs positive targets.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const std::string_view reduction = reduction_of(a[3], a[4], a[5]);
          require(a[0].tensor().shape() == a[1].tensor().shape(), "target has shape ", a[1].tensor().shape(),
                  ", the input ", a[0].tensor().shape());
          const Tensor x = wide(a[0].tensor(), at);
          const Tensor target = wide(a[1].tensor(), at);
          const Tensor likelihood = nn::logsigmoid(x, at);
          const Tensor rest = sub(1, target, 1, at);
          const Tensor line = mul(rest, x, at);
          Tensor weighted = likelihood;
          if (a[6].tensor_or_none().defined()) {
            const Tensor pos_weight = wide(a[6].tensor(), at);
            const Tensor more = sub(pos_weight, 1, 1, at);
            const Tensor scaled = mul(more, target, at);
            const Tensor factor = add(scaled, 1, 1, at);
            weighted = mul(factor, likelihood, at);
          }
          Tensor loss = sub(line, weighted, 1, at);
          if (a[2].tensor_or_none().defined()) {
            const Tensor weight = wide(a[2].tensor(), at);
            loss = mul(loss, weight, at);
          }
          const Tensor result = reduced(loss, reduction, at);
          out.push_back(as_dtype(result, result_of(a.first(2)), at));
        },
    .semantics = {.autocast = AutocastPolicy::wide},
};

SymbolList regression_loss_symbols() {
  static constexpr const Symbol* list[] = {
      &smooth_l1_loss_symbol,
      &huber_loss_symbol,
      &kl_div_symbol,
      &poisson_nll_loss_symbol,
      &gaussian_nll_loss_symbol,
      &binary_cross_entropy_symbol,
      &binary_cross_entropy_with_logits_symbol,
  };
  return list;
}

}  // namespace fulgurite
