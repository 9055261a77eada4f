// Pointwise operators of one tensor that return steps or booleans.
#include <fulgurite/operators.h>

#include "ops/core/families.h"
#include "ops/elementwise/pointwise_rules.h"
#include "ops/generated/symbols.h"

namespace fulgurite {

constinit const Symbol floor_symbol{
    .signature = "torch.floor(Tensor input) -> Tensor",
    .documentation = "The largest integer not above each element.",
    .infer = infer_same_number,
    .gradient = gradient_is_zero,
    .scalar = "floor(input)",
    .traits = {.pointwise = true},
};

constinit const Symbol ceil_symbol{
    .signature = "torch.ceil(Tensor input) -> Tensor",
    .documentation = "The smallest integer not below each element.",
    .infer = infer_same_number,
    .gradient = gradient_is_zero,
    .scalar = "ceil(input)",
    .traits = {.pointwise = true},
};

constinit const Symbol round_symbol{
    .signature = "torch.round(Tensor input) -> Tensor",
    .documentation = "The nearest integer of each element, halves to the even one.",
    .infer = infer_same_number,
    .gradient = gradient_is_zero,
    .scalar = "round(input)",
    .traits = {.pointwise = true},
};

constinit const Symbol trunc_symbol{
    .signature = "torch.trunc(Tensor input) -> Tensor",
    .documentation = "Each element without its fraction.",
    .infer = infer_same_number,
    .gradient = gradient_is_zero,
    .scalar = "trunc(input)",
    .traits = {.pointwise = true},
};

constinit const Symbol sign_symbol{
    .signature = "torch.sign(Tensor input) -> Tensor",
    .documentation = "-1, 0 or 1 by the sign of each element.",
    .infer = infer_same,
    .gradient = gradient_is_zero,
    .scalar = "sign(input)",
    .traits = {.pointwise = true},
};

constinit const Symbol isnan_symbol{
    .signature = "torch.isnan(Tensor input) -> Tensor",
    .documentation = "True where an element is not a number.",
    .infer = infer_boolean,
    .scalar = "input != input",
    .traits = {.pointwise = true, .not_differentiable = true},
};

namespace {

// Integers are finite.
ScalarFormula is_infinite_formula(Arguments a, Dtype) {
  if (!is_floating(a[0].tensor().dtype())) return "input != input";
  return "abs(input) == inf";
}
ScalarFormula is_finite_formula(Arguments a, Dtype) {
  if (!is_floating(a[0].tensor().dtype())) return "input == input";
  return "abs(input) < inf";
}

}  // namespace

constinit const Symbol isinf_symbol{
    .signature = "torch.isinf(Tensor input) -> Tensor",
    .documentation = "True where an element is an infinity.",
    .infer = infer_boolean,
    .scalar = is_infinite_formula,
    .traits = {.pointwise = true, .not_differentiable = true},
};

constinit const Symbol isfinite_symbol{
    .signature = "torch.isfinite(Tensor input) -> Tensor",
    .documentation = "True where an element is neither infinite nor not a number.",
    .infer = infer_boolean,
    .scalar = is_finite_formula,
    .traits = {.pointwise = true, .not_differentiable = true},
};

constinit const Symbol logical_not_symbol{
    .signature = "torch.logical_not(Tensor input) -> Tensor",
    .documentation = "True where an element is zero or false.",
    .infer = infer_boolean,
    .scalar = "input == 0",
    .traits = {.pointwise = true, .not_differentiable = true},
};

constinit const Symbol bitwise_not_symbol{
    .signature = "torch.bitwise_not(Tensor input) -> Tensor",
    .documentation = "Each integer with all bits inverted; of booleans the logical not.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          require(!is_floating(a[0].tensor().dtype()), "needs integers or booleans, not ", a[0].tensor().dtype());
          infer_same(a, types);
        },
    .scalar = "~input",
    .traits = {.pointwise = true, .not_differentiable = true},
};

constinit const Symbol prims_convert_element_type_symbol{
    .signature = "prims.convert_element_type(Tensor input, Dtype dtype) -> Tensor",
    .documentation = "The elements converted to another dtype; floating ones are cut toward zero for integers.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          const Tensor& x = a[0].tensor();
          types.push_back({x.shape(), a[1].dtype(), x.device()});
        },
    // The driver converts the cotangent to the argument's dtype.
    .gradient = [](Gradient& g) { g.set(0, g.cotangent()); },
    .python = "{0}.to({1})",
    .traits = {.pointwise = true},
    .semantics = {.linearity = Linearity::first, .conversion = true},
};

SymbolList unary_step_symbols() {
  static constexpr const Symbol* list[] = {
      &floor_symbol,
      &ceil_symbol,
      &round_symbol,
      &trunc_symbol,
      &sign_symbol,
      &isnan_symbol,
      &isinf_symbol,
      &isfinite_symbol,
      &logical_not_symbol,
      &bitwise_not_symbol,
      &prims_convert_element_type_symbol,
  };
  return list;
}

}  // namespace fulgurite
