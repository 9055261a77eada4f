// Activation functions.
#include <fulgurite/operators.h>

#include "ops/core/families.h"
#include "ops/elementwise/pointwise_rules.h"
#include "ops/generated/symbols.h"

namespace fulgurite {

namespace {

constexpr double sqrt_half = 0.7071067811865476;
constexpr double gaussian_scale = 0.3989422804014327;  // 1 / sqrt(2 pi)
constexpr double tanh_scale = 0.7978845608028654;      // sqrt(2 / pi)
constexpr double tanh_cubic = 0.044715;

bool is_tanh_approximation(const Argument& approximate) {
  require(approximate.string() == "none" || approximate.string() == "tanh",
          "approximate must be \"none\" or \"tanh\", not \"", approximate.string(), "\"");
  return approximate.string() == "tanh";
}

void infer_gelu(Arguments a, InferredTypes& types) {
  require(is_floating(a[0].tensor().dtype()), "needs a floating dtype, not ", a[0].tensor().dtype());
  is_tanh_approximation(a[1]);
  infer_same(a, types);
}

// tanh(sqrt(2 / pi) * (x + 0.044715 x^3)), and x^2 as a by-product.
struct TanhTerms {
  Tensor square, tanh;
};
TanhTerms tanh_terms(const Tensor& x, SourceLocation at) {
  const Tensor square = mul(x, x, at);
  const Tensor cube = mul(square, x, at);
  const Tensor scaled = mul(cube, tanh_cubic, at);
  const Tensor sum = add(x, scaled, 1, at);
  const Tensor inner = mul(sum, tanh_scale, at);
  return {square, tanh(inner, at)};
}

void infer_silu(Arguments a, InferredTypes& types) {
  require(is_floating(a[0].tensor().dtype()), "needs a floating dtype, not ", a[0].tensor().dtype());
  infer_same(a, types);
}

void decompose_gelu(Arguments a, Results& results, SourceLocation at) {
  check(infer_gelu, a);
  const Tensor& x = a[0].tensor();
  Tensor bent;
  if (is_tanh_approximation(a[1])) {
    bent = tanh_terms(x, at).tanh;
  } else {
    const Tensor scaled = mul(x, sqrt_half, at);
    bent = erf(scaled, at);
  }
  const Tensor half = mul(x, 0.5, at);
  const Tensor raised = add(bent, 1, 1, at);
  results.push_back(mul(half, raised, at));
}

void decompose_gelu_backward(Arguments a, Results& results, SourceLocation at) {
  const Tensor& x = a[1].tensor();
  Tensor slope;
  if (is_tanh_approximation(a[2])) {
    const TanhTerms terms = tanh_terms(x, at);
    const Tensor raised = add(terms.tanh, 1, 1, at);
    const Tensor left = mul(raised, 0.5, at);
    const Tensor tanh_square = mul(terms.tanh, terms.tanh, at);
    const Tensor tanh_slope = sub(1, tanh_square, 1, at);
    const Tensor cubic_slope = mul(terms.square, 3 * tanh_cubic * tanh_scale, at);
    const Tensor inner_slope = add(cubic_slope, tanh_scale, 1, at);
    const Tensor half = mul(x, 0.5, at);
    const Tensor bent = mul(half, tanh_slope, at);
    const Tensor right = mul(bent, inner_slope, at);
    slope = add(left, right, 1, at);
  } else {
    const Tensor scaled = mul(x, sqrt_half, at);
    const Tensor bent = erf(scaled, at);
    const Tensor raised = add(bent, 1, 1, at);
    const Tensor cumulative = mul(raised, 0.5, at);
    const Tensor square = mul(x, x, at);
    const Tensor exponent = mul(square, -0.5, at);
    const Tensor bell = exp(exponent, at);
    const Tensor density = mul(bell, gaussian_scale, at);
    const Tensor weighted = mul(x, density, at);
    slope = add(cumulative, weighted, 1, at);
  }
  results.push_back(mul(a[0].tensor(), slope, at));
}

}  // namespace

constinit const Symbol sigmoid_symbol{
    .signature = "torch.sigmoid(Tensor input) -> Tensor",
    .documentation = "1 / (1 + exp(-x)) of each element.",
    .infer = infer_floating,
    .gradient =
        [](Gradient& g) {
          const Tensor rest = sub(1, g.result());
          const Tensor slope = mul(rest, g.result());
          g.set(0, mul(g.cotangent(), slope));
        },
    .scalar = "sigmoid(input)",
    .traits = {.pointwise = true},
};

constinit const Symbol relu_symbol{
    .signature = "torch.nn.functional.relu(Tensor input) -> Tensor",
    .documentation = "Each element, but not below zero.",
    .infer = infer_same_number,
    .gradient =
        [](Gradient& g) {
          const Tensor flat = le(g.result(), 0);
          g.set(0, where(flat, 0, g.cotangent()));
        },
    .scalar = "maximum(input, 0)",
    .traits = {.pointwise = true},
    .semantics = {.exact = true},
};

constinit const Symbol silu_symbol{
    .signature = "torch.nn.functional.silu(Tensor input) -> Tensor",
    .documentation = "x * sigmoid(x) of each element.",
    .infer = infer_silu,
    .decompose =
        [](Arguments a, Results& results, SourceLocation at) {
          check(infer_silu, a);
          const Tensor gate = sigmoid(a[0].tensor(), at);
          results.push_back(mul(a[0].tensor(), gate, at));
        },
    .gradient =
        [](Gradient& g) {
          const Tensor x = g.tensor(0);
          const Tensor gate = sigmoid(x);
          const Tensor rest = sub(1, gate);
          const Tensor weighted = mul(x, rest);
          const Tensor raised = add(weighted, 1);
          const Tensor slope = mul(gate, raised);
          g.set(0, mul(g.cotangent(), slope));
        },
    .scalar = "silu(input)",
    .traits = {.pointwise = true},
};

namespace {

ScalarFormula gelu_formula(Arguments a, Dtype) {
  if (a[1].string() == "tanh") return "gelu_tanh(input)";
  return "gelu(input)";
}
ScalarFormula gelu_backward_formula(Arguments a, Dtype) {
  if (a[2].string() == "tanh") return "gelu_tanh_backward(grad, input)";
  return "gelu_backward(grad, input)";
}

}  // namespace

constinit const Symbol gelu_symbol{
    .signature = "torch.nn.functional.gelu(Tensor input, *, str approximate='none') -> Tensor",
    .documentation = "x times the normal distribution's cumulative probability at x; approximate may be \"tanh\".",
    .infer = infer_gelu,
    .decompose = decompose_gelu,
    .gradient = [](Gradient& g) { g.set(0, prims::gelu_backward(g.cotangent(), g.tensor(0), g.argument(1).string())); },
    .scalar = gelu_formula,
    .traits = {.pointwise = true},
};

constinit const Symbol prims_gelu_backward_symbol{
    .signature = "prims.gelu_backward(Tensor grad, Tensor input, str approximate) -> Tensor",
    .documentation = "The cotangent of gelu's input from that of its result.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          is_tanh_approximation(a[2]);
          require(is_floating(a[1].tensor().dtype()), "needs a floating dtype, not ", a[1].tensor().dtype());
          require(a[0].tensor().dtype() == a[1].tensor().dtype(), "grad is ", a[0].tensor().dtype(), ", the input ",
                  a[1].tensor().dtype());
          types.push_back(broadcast_type(a.first(2), a[1].tensor().dtype()));
        },
    .decompose = decompose_gelu_backward,
    .scalar = gelu_backward_formula,
    .python = "torch.ops.aten.gelu_backward({0}, {1}, approximate={2})",
    .traits = {.pointwise = true},
};

SymbolList activation_symbols() {
  static constexpr const Symbol* list[] = {
      &sigmoid_symbol, &relu_symbol, &silu_symbol, &gelu_symbol, &prims_gelu_backward_symbol,
  };
  return list;
}

}  // namespace fulgurite
