// Activation functions with exponentials in a piece, and gates. A branch that could overflow is computed from a
// harmless argument outside its interval, because the gradient of the branch not taken is zero times its slope.
#include <fulgurite/operators.h>

#include "ops/core/families.h"
#include "ops/core/precision.h"
#include "ops/elementwise/pointwise_rules.h"
#include "ops/generated/symbols.h"

namespace fulgurite {

namespace {

void require_floating(const Tensor& x) { require(is_floating(x.dtype()), "needs a floating dtype, not ", x.dtype()); }
void refuse_in_place(const Argument& inplace) {
  require(!inplace.boolean(), "inplace=True is not supported; assign the result");
}

/// x times slope if positive, else scale * (exp(x / width) - 1).
struct ExponentialUnit {
  Float scale = 1.0, width = 1.0, slope = 1.0;

  Tensor operator()(const Tensor& given, SourceLocation at) const {
    require_floating(given);
    const Tensor x = as_dtype(given, compute_dtype(given.dtype()), at);
    const Tensor is_line = ge(x, 0, at);
    const Tensor harmless = where(is_line, 0, x, at);
    const Tensor exponent = width == 1.0 ? harmless : div(harmless, width, {}, at);
    const Tensor below = expm1(exponent, at);
    const Tensor scaled = scale == 1.0 ? below : mul(below, scale, at);
    const Tensor above = slope == 1.0 ? x : mul(x, slope, at);
    const Tensor result = where(is_line, above, scaled, at);
    return as_dtype(result, given.dtype(), at);
  }
  void gradient(Gradient& g) const {
    const Tensor x = as_dtype(g.tensor(0), compute_dtype(g.tensor(0).dtype()), SourceLocation());
    const Tensor is_positive = gt(x, 0);
    const Tensor harmless = where(is_positive, 0, x);
    const Tensor exponent = width == 1.0 ? harmless : div(harmless, width);
    const Tensor power = exp(exponent);
    const Float factor = scale / width;
    const Tensor below = factor == 1.0 ? power : mul(power, factor);
    const Tensor slopes = where(is_positive, slope, below);
    g.set(0, mul(g.cotangent(), slopes));
  }
};

/// log(1 + exp(beta * x)) / beta, x itself above the threshold. In the compute dtype.
Tensor soft_ramp(const Tensor& x, Float beta, Float threshold, SourceLocation at) {
  const Tensor scaled = beta == 1.0 ? x : mul(x, beta, at);
  const Tensor is_line = gt(scaled, threshold, at);
  const Tensor harmless = where(is_line, 0, scaled, at);
  const Tensor power = exp(harmless, at);
  const Tensor logarithm = log1p(power, at);
  const Tensor bent = beta == 1.0 ? logarithm : div(logarithm, beta, {}, at);
  return where(is_line, x, bent, at);
}

constexpr double selu_alpha = 1.6732632423543772848170429916717, selu_scale = 1.0507009873554804934193349852946;

ExponentialUnit elu_of(Arguments a) { return {.scale = a[1].floating()}; }
ExponentialUnit celu_of(Arguments a) {
  require(a[1].floating() != 0.0, "alpha must not be 0");
  return {.scale = a[1].floating(), .width = a[1].floating()};
}
ExponentialUnit selu_of() { return {.scale = selu_alpha * selu_scale, .slope = selu_scale}; }

}  // namespace

constinit const Symbol elu_symbol{
    .signature = "torch.nn.functional.elu(Tensor input, float alpha=1.0, bool inplace=False) -> Tensor",
    .documentation = "x where it is positive, else alpha * (exp(x) - 1).",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          refuse_in_place(a[2]);
          out.push_back(elu_of(a)(a[0].tensor(), at));
        },
    .gradient = [](Gradient& g) { elu_of(g.arguments()).gradient(g); },
    .traits = {.pointwise = true},
};

constinit const Symbol celu_symbol{
    .signature = "torch.nn.functional.celu(Tensor input, float alpha=1.0, bool inplace=False) -> Tensor",
    .documentation = "x where it is positive, else alpha * (exp(x / alpha) - 1).",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          refuse_in_place(a[2]);
          out.push_back(celu_of(a)(a[0].tensor(), at));
        },
    .gradient = [](Gradient& g) { celu_of(g.arguments()).gradient(g); },
    .traits = {.pointwise = true},
};

constinit const Symbol selu_symbol{
    .signature = "torch.nn.functional.selu(Tensor input, bool inplace=False) -> Tensor",
    .documentation = "elu, scaled so that activations keep mean 0 and variance 1 (Klambauer et al. 2017).",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          refuse_in_place(a[1]);
          out.push_back(selu_of()(a[0].tensor(), at));
        },
    .gradient = [](Gradient& g) { selu_of().gradient(g); },
    .traits = {.pointwise = true},
};

constinit const Symbol softplus_symbol{
    .signature = "torch.nn.functional.softplus(Tensor input, float beta=1.0, float threshold=20.0) -> Tensor",
    .documentation = "log(1 + exp(beta * x)) / beta; x itself where beta * x is above threshold.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& given = a[0].tensor();
          require_floating(given);
          const Tensor x = as_dtype(given, compute_dtype(given.dtype()), at);
          const Tensor result = soft_ramp(x, a[1].floating(), a[2].floating(), at);
          out.push_back(as_dtype(result, given.dtype(), at));
        },
    .traits = {.pointwise = true},
};

constinit const Symbol mish_symbol{
    .signature = "torch.nn.functional.mish(Tensor input, bool inplace=False) -> Tensor",
    .documentation = "x * tanh(softplus(x)).",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& given = a[0].tensor();
          require_floating(given);
          refuse_in_place(a[1]);
          const Tensor x = as_dtype(given, compute_dtype(given.dtype()), at);
          const Tensor ramp = soft_ramp(x, 1.0, 20.0, at);
          const Tensor gate = tanh(ramp, at);
          const Tensor result = mul(x, gate, at);
          out.push_back(as_dtype(result, given.dtype(), at));
        },
    .traits = {.pointwise = true},
};

constinit const Symbol logsigmoid_symbol{
    .signature = "torch.nn.functional.logsigmoid(Tensor input) -> Tensor",
    .documentation = "log(1 / (1 + exp(-x))), exact for large negative numbers too.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& given = a[0].tensor();
          require_floating(given);
          const Tensor x = as_dtype(given, compute_dtype(given.dtype()), at);
          const Tensor is_positive = gt(x, 0, at);
          const Tensor negative = where(is_positive, 0, x, at);
          const Tensor size = abs(x, at);
          const Tensor exponent = neg(size, at);
          const Tensor power = exp(exponent, at);
          const Tensor rest = log1p(power, at);
          const Tensor result = sub(negative, rest, 1, at);
          out.push_back(as_dtype(result, given.dtype(), at));
        },
    .gradient =
        [](Gradient& g) {
          const Tensor opposite = neg(g.tensor(0));
          const Tensor slope = sigmoid(opposite);
          g.set(0, mul(g.cotangent(), slope));
        },
    .traits = {.pointwise = true},
};

constinit const Symbol softsign_symbol{
    .signature = "torch.nn.functional.softsign(Tensor input) -> Tensor",
    .documentation = "x / (1 + abs(x)).",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& x = a[0].tensor();
          const Tensor size = abs(x, at);
          const Tensor below = add(size, 1, 1, at);
          out.push_back(div(x, below, {}, at));
        },
    .traits = {.pointwise = true},
};

constinit const Symbol glu_symbol{
    .signature = "torch.nn.functional.glu(Tensor input, int dim=-1) -> Tensor",
    .documentation = "The first half along dim times the sigmoid of the second.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& x = a[0].tensor();
          require_floating(x);
          require(x.ndim() > 0, "needs at least 1 dimension");
          const int64_t dim = normalize_dim(a[1].integer(), x.ndim());
          const Int size = x.size(static_cast<int>(dim));
          require(size % 2 == 0, "the size of dimension ", dim, " must be even, not ", size.hint());
          const Tensor first = narrow(x, dim, 0, size / 2, at);
          const Tensor second = narrow(x, dim, size / 2, size / 2, at);
          const Tensor gate = sigmoid(second, at);
          out.push_back(mul(first, gate, at));
        },
};

SymbolList piecewise_exponential_symbols() {
  static constexpr const Symbol* list[] = {
      &elu_symbol,  &celu_symbol,       &selu_symbol,     &softplus_symbol,
      &mish_symbol, &logsigmoid_symbol, &softsign_symbol, &glu_symbol,
  };
  return list;
}

}  // namespace fulgurite
