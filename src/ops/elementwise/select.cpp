// Pointwise operators that choose between operands, and those of three operands.
#include <fulgurite/operators.h>

#include "ops/core/families.h"
#include "ops/core/precision.h"
#include "ops/elementwise/pointwise_rules.h"
#include "ops/generated/symbols.h"

namespace fulgurite {

namespace {

void require_mask(const Tensor& mask, std::string_view name) {
  require(is_boolean(mask.dtype()), name, " must be boolean, not ", mask.dtype());
}

void infer_clamp(Arguments a, InferredTypes& types) {
  require(!a[1].is_none() || !a[2].is_none(), "at least one of min and max must be given");
  require(!is_boolean(a[0].tensor().dtype()), "not defined for booleans");
  SmallVector<Argument, 3> operands;
  for (const Argument& operand : a)
    if (!operand.is_none()) operands.push_back(operand);
  const Arguments given(operands.data(), operands.size());
  types.push_back(broadcast_type(given, result_dtype(given)));
}

// With numeric bounds, an element on a bound has no gradient, as in PyTorch.
void gradient_between_numbers(Gradient& g) {
  Tensor inside;
  if (!g.argument(1).is_none()) inside = gt(g.tensor(0), g.argument(1).operand());
  if (!g.argument(2).is_none()) {
    const Tensor below = lt(g.tensor(0), g.argument(2).operand());
    inside = inside.defined() ? logical_and(inside, below) : below;
  }
  g.set(0, where(inside, g.cotangent(), 0));
}

// With a tensor bound, an element on a bound shares the gradient with it, unless the bounds meet; if they cross, max
// wins.
void gradient_between_tensors(Gradient& g) {
  const Tensor x = g.tensor(0);
  const bool has_low = !g.argument(1).is_none(), has_high = !g.argument(2).is_none();
  const Operand low = g.argument(1).operand(), high = g.argument(2).operand();
  Tensor below, above, on_low, on_high, crossed, ordered;
  if (has_low) {
    below = lt(x, low);
    on_low = eq(x, low);
  }
  if (has_high) {
    above = gt(x, high);
    on_high = eq(x, high);
  }
  if (has_low && has_high) {
    crossed = low.is_tensor() ? gt(g.tensor(1), high) : lt(g.tensor(2), low);
    ordered = low.is_tensor() ? lt(g.tensor(1), high) : gt(g.tensor(2), low);
    above = logical_or(above, crossed);
    const Tensor not_crossed = logical_not(crossed);
    below = logical_and(below, not_crossed);
    on_low = logical_and(on_low, ordered);
    on_high = logical_and(on_high, ordered);
  }
  const Tensor half = div(g.cotangent(), 2);
  if (g.needs(0)) {
    const Tensor shares = !has_high ? on_low : !has_low ? on_high : logical_or(on_low, on_high);
    const Tensor outside = !has_high ? below : !has_low ? above : logical_or(below, above);
    const Tensor shared = where(shares, half, g.cotangent());
    g.set(0, where(outside, 0, shared));
  }
  if (g.needs(1)) {
    const Tensor shared = where(on_low, half, 0);
    g.set(1, where(below, g.cotangent(), shared));
  }
  if (g.needs(2)) {
    const Tensor shared = where(on_high, half, 0);
    g.set(2, where(above, g.cotangent(), shared));
  }
}

void gradient_of_clamp(Gradient& g) {
  if (g.argument(1).is_tensor() || g.argument(2).is_tensor()) gradient_between_tensors(g);
  else gradient_between_numbers(g);
}

void infer_three(Arguments a, InferredTypes& types) {
  const Arguments operands = a.first(3);
  types.push_back(broadcast_type(operands, result_dtype(operands)));
}

void infer_lerp(Arguments a, InferredTypes& types) {
  const Dtype dtype = a[0].tensor().dtype();
  require(a[1].tensor().dtype() == dtype, "input and end must have the same dtype, not ", dtype, " and ",
          a[1].tensor().dtype());
  require(is_floating(dtype), "needs a floating dtype, not ", dtype);
  types.push_back(broadcast_type(a, dtype));
}

// For integers the factor must be an integer, too.
void infer_addcmul(Arguments a, InferredTypes& types) {
  infer_three(a, types);
  if (!is_floating(types[0].dtype)) require_fits("value", a[3], types[0].dtype);
}

void infer_addcdiv(Arguments a, InferredTypes& types) {
  infer_three(a, types);
  require(is_floating(types[0].dtype), "integer division is not defined here; convert an operand to a floating dtype");
}

}  // namespace

constinit const Symbol where_symbol{
    .signature = "torch.where(Tensor condition, Operand input, Operand other) -> Tensor",
    .documentation = "The element of input where condition holds, else that of other.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          require_mask(a[0].tensor(), "condition");
          types.push_back(broadcast_type(a, result_dtype(a.subspan(1, 2))));
          if (is_floating(types[0].dtype)) return;  // out-of-range numbers become infinities, as in PyTorch
          require_fits("input", a[1], types[0].dtype);
          require_fits("other", a[2], types[0].dtype);
        },
    .gradient =
        [](Gradient& g) {
          if (g.needs(1)) g.set(1, where(g.tensor(0), g.cotangent(), 0));
          if (g.needs(2)) g.set(2, where(g.tensor(0), 0, g.cotangent()));
        },
    .scalar = "where(condition, input, other)",
    .traits = {.pointwise = true},
};

namespace {

ScalarFormula clamp_formula(Arguments a, Dtype) {
  if (a[1].is_none()) return "minimum(input, max)";
  if (a[2].is_none()) return "maximum(input, min)";
  return "minimum(maximum(input, min), max)";
}

}  // namespace

constinit const Symbol clamp_symbol{
    .signature = "torch.clamp(Tensor input, Operand? min=None, Operand? max=None) -> Tensor",
    .documentation = "Each element brought into the range from min to max; max where they cross.",
    .infer = infer_clamp,
    .gradient = gradient_of_clamp,
    .scalar = clamp_formula,
    .traits = {.pointwise = true},
};

constinit const Symbol clamp_min_symbol{
    .signature = "torch.clamp_min(Tensor input, Operand min) -> Tensor",
    .documentation = "Each element, but not below min.",
    .infer = infer_promoted,
    .gradient =
        [](Gradient& g) {
          if (g.argument(1).is_tensor()) return gradient_of_extremum(g, true);
          const Tensor kept = gt(g.tensor(0), g.argument(1).operand());
          g.set(0, where(kept, g.cotangent(), 0));
        },
    .scalar = "maximum(input, min)",
    .traits = {.pointwise = true},
};

constinit const Symbol clamp_max_symbol{
    .signature = "torch.clamp_max(Tensor input, Operand max) -> Tensor",
    .documentation = "Each element, but not above max.",
    .infer = infer_promoted,
    .gradient =
        [](Gradient& g) {
          if (g.argument(1).is_tensor()) return gradient_of_extremum(g, false);
          const Tensor kept = lt(g.tensor(0), g.argument(1).operand());
          g.set(0, where(kept, g.cotangent(), 0));
        },
    .scalar = "minimum(input, max)",
    .traits = {.pointwise = true},
};

constinit const Symbol masked_fill_symbol{
    .signature = "torch.masked_fill(Tensor input, Tensor mask, Operand value) -> Tensor",
    .documentation = "The elements of input, with value where mask holds.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          require_mask(a[1].tensor(), "mask");
          const Dtype dtype = a[0].tensor().dtype();
          if (a[2].is_tensor()) require(a[2].tensor().ndim() == 0, "value must have no dimensions");
          const bool value_is_floating = a[2].is_tensor() ? is_floating(a[2].tensor().dtype()) : a[2].is_floating();
          require(is_floating(dtype) || !value_is_floating, "a floating value cannot be stored in ", dtype);
          require_fits("value", a[2], dtype);
          types.push_back(broadcast_type(a, dtype));
        },
    .gradient =
        [](Gradient& g) {
          if (g.needs(0)) g.set(0, masked_fill(g.cotangent(), g.tensor(1), 0));
          if (g.needs(2)) g.set(2, where(g.tensor(1), g.cotangent(), 0));
        },
    .scalar = "where(mask, value, input)",
    .traits = {.pointwise = true},
};

constinit const Symbol lerp_symbol{
    .signature = "torch.lerp(Tensor input, Tensor end, Operand weight) -> Tensor",
    .documentation = "input + weight * (end - input), exact at both ends.",
    .infer = infer_lerp,
    .decompose =
        [](Arguments a, Results& results, SourceLocation at) {
          check(infer_lerp, a);
          // Interpolates from the nearer end.
          const Tensor& start = a[0].tensor();
          const Tensor& end = a[1].tensor();
          const Tensor difference = sub(end, start, 1, at);
          if (a[2].is_number()) {
            const Float weight = a[2].floating();
            if (weight < 0.5 && weight > -0.5) {
              const Tensor step = mul(difference, weight, at);
              results.push_back(add(start, step, 1, at));
            } else {
              const Tensor step = mul(difference, 1 - weight, at);
              results.push_back(sub(end, step, 1, at));
            }
            return;
          }
          const Tensor weight = prims::convert_element_type(a[2].tensor(), start.dtype(), at);
          const Tensor step = mul(difference, weight, at);
          const Tensor from_start = add(start, step, 1, at);
          const Tensor rest = sub(1, weight, 1, at);
          const Tensor step_back = mul(difference, rest, at);
          const Tensor from_end = sub(end, step_back, 1, at);
          const Tensor magnitude = abs(weight, at);
          const Tensor nearer_start = lt(magnitude, 0.5, at);
          results.push_back(where(nearer_start, from_start, from_end, at));
        },
    .gradient =
        [](Gradient& g) {
          if (g.needs(0)) {
            if (g.argument(2).is_number()) {
              g.set(0, mul(g.cotangent(), 1 - g.argument(2).floating()));
            } else {
              const Tensor rest = sub(1, g.tensor(2));
              g.set(0, mul(g.cotangent(), rest));
            }
          }
          if (g.needs(1)) g.set(1, mul(g.cotangent(), g.argument(2).operand()));
          if (g.needs(2)) {
            const Tensor difference = sub(g.tensor(1), g.tensor(0));
            g.set(2, mul(g.cotangent(), difference));
          }
        },
    .traits = {.pointwise = true},
};

namespace {

/// input, tensor1 and tensor2 of addcmul and addcdiv in the compute dtype: the result's dtype, promoted from all three
/// because input may be 0-d; or f32 for 16-bit types, whose products and quotients overflow sooner than the result.
struct Widened {
  Dtype dtype;
  Tensor input, first, second;
};
Widened widened(InferRule infer, Arguments a, SourceLocation at) {
  InferredTypes types;
  infer(a, types);
  const Dtype dtype = compute_dtype(types[0].dtype);
  const bool is_narrow = dtype != types[0].dtype;
  Widened out{types[0].dtype, a[0].tensor(), {}, {}};
  if (is_narrow) out.input = as_dtype(out.input, dtype, at);
  out.first = as_dtype(a[1].tensor(), dtype, at);
  out.second = as_dtype(a[2].tensor(), dtype, at);
  return out;
}

}  // namespace

constinit const Symbol addcmul_symbol{
    .signature = "torch.addcmul(Tensor input, Tensor tensor1, Tensor tensor2, *, Operand value=1) -> Tensor",
    .documentation = "input + value * tensor1 * tensor2.",
    .infer = infer_addcmul,
    .decompose =
        [](Arguments a, Results& results, SourceLocation at) {
          const auto [dtype, input, first, second] = widened(infer_addcmul, a, at);
          const Tensor product = mul(first, second, at);
          const Tensor sum = add(input, product, a[3].operand(at), at);
          results.push_back(as_dtype(sum, dtype, at));
        },
    .traits = {.pointwise = true},
};

constinit const Symbol addcdiv_symbol{
    .signature = "torch.addcdiv(Tensor input, Tensor tensor1, Tensor tensor2, *, Operand value=1) -> Tensor",
    .documentation = "input + value * tensor1 / tensor2, of floating tensors.",
    .infer = infer_addcdiv,
    .decompose =
        [](Arguments a, Results& results, SourceLocation at) {
          const auto [dtype, input, first, second] = widened(infer_addcdiv, a, at);
          const Tensor quotient = div(first, second, {}, at);
          const Tensor sum = add(input, quotient, a[3].operand(at), at);
          results.push_back(as_dtype(sum, dtype, at));
        },
    .traits = {.pointwise = true},
    .samples = {.low = 0.5, .high = 3},
};

SymbolList select_symbols() {
  static constexpr const Symbol* list[] = {
      &where_symbol,       &clamp_symbol, &clamp_min_symbol, &clamp_max_symbol,
      &masked_fill_symbol, &lerp_symbol,  &addcmul_symbol,   &addcdiv_symbol,
  };
  return list;
}

}  // namespace fulgurite
