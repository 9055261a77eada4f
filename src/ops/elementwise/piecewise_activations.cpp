// Piecewise activation functions. A branch that could overflow is computed from a harmless argument outside its
// interval, because the gradient of the branch not taken is zero times its slope.
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

/// Requires a floating tensor, not in place.
template <size_t inplace>
void infer_activation(Arguments a, InferredTypes& types) {
  require_floating(a[0].tensor());
  if constexpr (inplace > 0) refuse_in_place(a[inplace]);
  types.push_back({a[0].tensor().shape(), a[0].tensor().dtype(), a[0].tensor().device()});
}

/// A bound in the tensor's category, so that it does not promote integers.
Operand bound(const Tensor& x, Float value) {
  if (is_floating(x.dtype())) return value;
  return Int(static_cast<int64_t>(static_cast<double>(value)));
}

/// low below, high above, x in between.
Tensor clipped(const Tensor& x, Float low, Float high, SourceLocation at) {
  require(!is_boolean(x.dtype()), "not defined for booleans");
  require(low <= high, "min_val must not be above max_val: ", low.hint(), " and ", high.hint());
  return clamp(x, bound(x, low), bound(x, high), at);
}

/// Zero at both bounds, unlike clamp's.
void gradient_of_clipped(Gradient& g, Float low, Float high) {
  const Tensor is_low = le(g.tensor(0), low);
  const Tensor is_high = ge(g.tensor(0), high);
  const Tensor is_flat = logical_or(is_low, is_high);
  g.set(0, where(is_flat, 0, g.cotangent()));
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

constinit const Symbol hardtanh_symbol{
    .signature =
        "torch.nn.functional.hardtanh(Tensor input, float min_val=-1.0, float max_val=1.0, bool inplace=False) -> Tensor",
    .documentation = "Each element, but not below min_val nor above max_val; flat at both.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          refuse_in_place(a[3]);
          out.push_back(clipped(a[0].tensor(), a[1].floating(), a[2].floating(), at));
        },
    .gradient = [](Gradient& g) { gradient_of_clipped(g, g.argument(1).floating(), g.argument(2).floating()); },
    .traits = {.pointwise = true},
};

constinit const Symbol relu6_symbol{
    .signature = "torch.nn.functional.relu6(Tensor input, bool inplace=False) -> Tensor",
    .documentation = "Each element, but not below 0 nor above 6.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          refuse_in_place(a[1]);
          out.push_back(clipped(a[0].tensor(), 0.0, 6.0, at));
        },
    .gradient = [](Gradient& g) { gradient_of_clipped(g, 0.0, 6.0); },
    .traits = {.pointwise = true},
};

constinit const Symbol hardsigmoid_symbol{
    .signature = "torch.nn.functional.hardsigmoid(Tensor input, bool inplace=False) -> Tensor",
    .documentation = "x / 6 + 1/2, but not below 0 nor above 1.",
    .infer = infer_activation<1>,
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& given = a[0].tensor();
          require_floating(given);
          refuse_in_place(a[1]);
          const Tensor x = as_dtype(given, compute_dtype(given.dtype()), at);
          const Tensor inside = nn::hardtanh(x, -3.0, 3.0, false, at);
          const Tensor raised = add(inside, 3, 1, at);
          const Tensor result = div(raised, 6, {}, at);
          out.push_back(as_dtype(result, given.dtype(), at));
        },
    .traits = {.pointwise = true},
};

constinit const Symbol hardswish_symbol{
    .signature = "torch.nn.functional.hardswish(Tensor input, bool inplace=False) -> Tensor",
    .documentation = "x times hardsigmoid(x).",
    .infer = infer_activation<1>,
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& given = a[0].tensor();
          require_floating(given);
          refuse_in_place(a[1]);
          const Tensor x = as_dtype(given, compute_dtype(given.dtype()), at);
          const Tensor raised = add(x, 3, 1, at);
          const Tensor product = mul(x, raised, at);
          const Tensor bent = div(product, 6, {}, at);
          const Tensor is_low = le(x, -3, at);
          const Tensor none = mul(x, 0, at);  // NaN for infinities, as the product with the slope 0
          const Tensor cut = where(is_low, none, bent, at);
          const Tensor is_high = ge(x, 3, at);
          const Tensor result = where(is_high, x, cut, at);
          out.push_back(as_dtype(result, given.dtype(), at));
        },
    // The decomposition's gradient multiplies infinities by 0.
    .gradient =
        [](Gradient& g) {
          const Tensor x = as_dtype(g.tensor(0), compute_dtype(g.tensor(0).dtype()), {});
          const Tensor cotangent = as_dtype(g.cotangent(), x.dtype(), {});
          const Tensor slope = add(div(x, 3), 0.5);
          const Tensor bent = mul(cotangent, slope);
          const Tensor is_low = le(x, -3);
          const Tensor cut = where(is_low, 0, bent);
          const Tensor is_high = ge(x, 3);
          g.set(0, where(is_high, cotangent, cut));
        },
    .traits = {.pointwise = true},
    .samples = {.low = -3.5, .high = 3.5},
};

constinit const Symbol hardshrink_symbol{
    .signature = "torch.nn.functional.hardshrink(Tensor input, float lambd=0.5) -> Tensor",
    .documentation = "Each element, or zero where it lies within lambd of zero.",
    .infer = infer_activation<0>,
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& x = a[0].tensor();
          require_floating(x);
          const Tensor above = ge(x, -a[1].floating(), at);
          const Tensor below = le(x, a[1].floating(), at);
          const Tensor is_small = logical_and(above, below, at);
          out.push_back(where(is_small, 0, x, at));
        },
    .traits = {.pointwise = true},
};

constinit const Symbol softshrink_symbol{
    .signature = "torch.nn.functional.softshrink(Tensor input, float lambd=0.5) -> Tensor",
    .documentation = "Each element brought closer to zero by lambd; zero where it lies within.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          require(a[1].floating() >= 0, "lambd must not be negative: ", a[1].floating().hint());
          infer_activation<0>(a, types);
        },
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& x = a[0].tensor();
          require_floating(x);
          const Float width = a[1].floating();
          require(width >= 0, "lambd must not be negative: ", width.hint());
          const Tensor lowered = sub(x, width, 1, at);
          const Tensor raised = add(x, width, 1, at);
          const Tensor none = mul(x, 0, at);
          const Tensor is_low = lt(x, -width, at);
          const Tensor lower_part = where(is_low, raised, none, at);
          const Tensor is_high = gt(x, width, at);
          out.push_back(where(is_high, lowered, lower_part, at));
        },
    .traits = {.pointwise = true},
};

constinit const Symbol tanhshrink_symbol{
    .signature = "torch.nn.functional.tanhshrink(Tensor input) -> Tensor",
    .documentation = "x - tanh(x).",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& given = a[0].tensor();
          const Tensor x = as_dtype(given, compute_dtype(given.dtype()), at);
          const Tensor bent = tanh(x, at);
          const Tensor result = sub(x, bent, 1, at);
          out.push_back(is_floating(given.dtype()) ? as_dtype(result, given.dtype(), at) : result);
        },
    .traits = {.pointwise = true},
};

constinit const Symbol threshold_symbol{
    .signature =
        "torch.nn.functional.threshold(Tensor input, float threshold, float value, bool inplace=False) -> Tensor",
    .documentation = "Each element where it is above threshold, else value.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          refuse_in_place(a[3]);
          require(!is_boolean(a[0].tensor().dtype()), "not defined for booleans");
          infer_same(a.first(1), types);
        },
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& x = a[0].tensor();
          refuse_in_place(a[3]);
          require(!is_boolean(x.dtype()), "not defined for booleans");
          const Tensor is_low = le(x, bound(x, a[1].floating()), at);
          out.push_back(where(is_low, bound(x, a[2].floating()), x, at));
        },
    .traits = {.pointwise = true},
};

constinit const Symbol leaky_relu_symbol{
    .signature =
        "torch.nn.functional.leaky_relu(Tensor input, float negative_slope=0.01, bool inplace=False) -> Tensor",
    .documentation = "Each element, times negative_slope where it is not positive.",
    .infer = infer_activation<2>,
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& x = a[0].tensor();
          require_floating(x);
          refuse_in_place(a[2]);
          const Tensor is_positive = gt(x, 0, at);
          const Tensor sloped = mul(x, a[1].floating(), at);
          out.push_back(where(is_positive, x, sloped, at));
        },
    .traits = {.pointwise = true},
};

constinit const Symbol prelu_symbol{
    .signature = "torch.nn.functional.prelu(Tensor input, Tensor weight) -> Tensor",
    .documentation =
        "Each element, times its channel's weight (or the only one) where it is not positive. Channels are dimension 1.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor &x = a[0].tensor(), &weight = a[1].tensor();
          require_floating(x);
          require(weight.ndim() <= 1, "weight must have at most 1 dimension, got shape ", weight.shape());
          Tensor shaped = weight;
          if (weight.ndim() == 1) {
            const Int channels = x.ndim() > 1 ? x.size(1) : Int(1), given = weight.size(0);
            require(given == 1 || given == channels, "weight has ", given.hint(), " elements, the input ",
                    channels.hint(), " channels");
            Shape shape;
            shape.resize(x.ndim(), 1);
            if (x.ndim() > 1) shape[1] = given;
            shaped = reshape(weight, shape, at);
          }
          const Tensor is_positive = gt(x, 0, at);
          const Tensor sloped = mul(x, shaped, at);
          out.push_back(where(is_positive, x, sloped, at));
        },
};

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

SymbolList piecewise_activation_symbols() {
  static constexpr const Symbol* list[] = {
      &hardtanh_symbol,   &relu6_symbol,      &hardsigmoid_symbol, &hardswish_symbol,  &hardshrink_symbol,
      &softshrink_symbol, &tanhshrink_symbol, &threshold_symbol,   &leaky_relu_symbol, &prelu_symbol,
      &elu_symbol,        &celu_symbol,       &selu_symbol,        &softplus_symbol,   &mish_symbol,
      &logsigmoid_symbol, &softsign_symbol,   &glu_symbol,
  };
  return list;
}

}  // namespace fulgurite
