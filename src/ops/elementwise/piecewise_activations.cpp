// Activation functions that are linear or constant in pieces, and shrinkage.
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

}  // namespace

constinit const Symbol hardtanh_symbol{
    .signature =
        "torch.nn.functional.hardtanh(Tensor input, float min_val=-1.0, float max_val=1.0, bool inplace=False) -> "
        "Tensor",
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
    .documentation = "Each element, or zero where its absolute value is at most lambd.",
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
    .documentation = "Each element moved toward zero by lambd; zero where its absolute value is at most lambd.",
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
        "Each element, times its channel's weight (or the only one) where it is not positive. Channels are dimension "
        "1.",
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
    .semantics = {.autocast = AutocastPolicy::narrow},
};

SymbolList piecewise_activation_symbols() {
  static constexpr const Symbol* list[] = {
      &hardtanh_symbol,   &relu6_symbol,      &hardsigmoid_symbol, &hardswish_symbol,  &hardshrink_symbol,
      &softshrink_symbol, &tanhshrink_symbol, &threshold_symbol,   &leaky_relu_symbol, &prelu_symbol,
  };
  return list;
}

}  // namespace fulgurite
