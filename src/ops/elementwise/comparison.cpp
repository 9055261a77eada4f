// Comparisons, and logical and bitwise operators of two operands.
#include <fulgurite/operators.h>

#include "ops/core/families.h"
#include "ops/elementwise/pointwise_rules.h"
#include "ops/generated/symbols.h"

namespace fulgurite {

constinit const Symbol eq_symbol{
    .signature = "torch.eq(Tensor input, Operand other) -> Tensor",
    .documentation = "True where elements are equal.",
    .infer = infer_comparison,
    .scalar = "input == other",
    .traits = {.pointwise = true, .not_differentiable = true},
    .semantics = {.equality = true},
};

constinit const Symbol ne_symbol{
    .signature = "torch.ne(Tensor input, Operand other) -> Tensor",
    .documentation = "True where elements differ.",
    .infer = infer_comparison,
    .scalar = "input != other",
    .traits = {.pointwise = true, .not_differentiable = true},
    .semantics = {.equality = true},
};

constinit const Symbol lt_symbol{
    .signature = "torch.lt(Tensor input, Operand other) -> Tensor",
    .documentation = "True where input is less than other.",
    .infer = infer_comparison,
    .scalar = "input < other",
    .traits = {.pointwise = true, .not_differentiable = true},
};

constinit const Symbol le_symbol{
    .signature = "torch.le(Tensor input, Operand other) -> Tensor",
    .documentation = "True where input is at most other.",
    .infer = infer_comparison,
    .scalar = "input <= other",
    .traits = {.pointwise = true, .not_differentiable = true},
};

constinit const Symbol gt_symbol{
    .signature = "torch.gt(Tensor input, Operand other) -> Tensor",
    .documentation = "True where input is greater than other.",
    .infer = infer_comparison,
    .scalar = "input > other",
    .traits = {.pointwise = true, .not_differentiable = true},
};

constinit const Symbol ge_symbol{
    .signature = "torch.ge(Tensor input, Operand other) -> Tensor",
    .documentation = "True where input is at least other.",
    .infer = infer_comparison,
    .scalar = "input >= other",
    .traits = {.pointwise = true, .not_differentiable = true},
};

constinit const Symbol logical_and_symbol{
    .signature = "torch.logical_and(Tensor input, Tensor other) -> Tensor",
    .documentation = "True where both elements are true or not zero.",
    .infer = infer_comparison,
    .scalar = "(input != 0) & (other != 0)",
    .traits = {.pointwise = true, .not_differentiable = true},
};

constinit const Symbol logical_or_symbol{
    .signature = "torch.logical_or(Tensor input, Tensor other) -> Tensor",
    .documentation = "True where either element is true or not zero.",
    .infer = infer_comparison,
    .scalar = "(input != 0) | (other != 0)",
    .traits = {.pointwise = true, .not_differentiable = true},
};

constinit const Symbol logical_xor_symbol{
    .signature = "torch.logical_xor(Tensor input, Tensor other) -> Tensor",
    .documentation = "True where one of two elements is true or not zero, and the other is not.",
    .infer = infer_comparison,
    .scalar = "(input != 0) ^ (other != 0)",
    .traits = {.pointwise = true, .not_differentiable = true},
};

constinit const Symbol bitwise_and_symbol{
    .signature = "torch.bitwise_and(Operand input, Operand other) -> Tensor",
    .documentation = "The bits set in both integers; of booleans the logical and.",
    .infer = infer_bitwise,
    .scalar = "input & other",
    .traits = {.pointwise = true, .not_differentiable = true},
};

constinit const Symbol bitwise_or_symbol{
    .signature = "torch.bitwise_or(Operand input, Operand other) -> Tensor",
    .documentation = "The bits set in either integer; of booleans the logical or.",
    .infer = infer_bitwise,
    .scalar = "input | other",
    .traits = {.pointwise = true, .not_differentiable = true},
};

constinit const Symbol bitwise_xor_symbol{
    .signature = "torch.bitwise_xor(Operand input, Operand other) -> Tensor",
    .documentation = "The bits set in one of two integers only; of booleans the exclusive or.",
    .infer = infer_bitwise,
    .scalar = "input ^ other",
    .traits = {.pointwise = true, .not_differentiable = true},
};

constinit const Symbol isclose_symbol{
    .signature =
        "torch.isclose(Tensor input, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor",
    .documentation = "True where elements are equal, or differ by at most atol + rtol * |other|.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor x = a[0].tensor(), y = a[1].tensor();
          require(x.dtype() == y.dtype(), "input is ", x.dtype(), ", other ", y.dtype(), "; they must be of one dtype");
          const Float rtol = a[2].floating(), atol = a[3].floating();
          require(!(rtol < 0), "rtol must not be negative: ", rtol);
          require(!(atol < 0), "atol must not be negative: ", atol);
          Tensor close = eq(x, y, at);
          if (a[4].boolean() && is_floating(x.dtype())) {
            const Tensor x_missing = isnan(x, at);
            const Tensor y_missing = isnan(y, at);
            const Tensor both_missing = logical_and(x_missing, y_missing, at);
            close = logical_or(close, both_missing, at);
          }
          if (x.dtype() == Dtype::boolean || (rtol == 0 && atol == 0)) return out.push_back(close);
          // Integers are compared in the default dtype, the tolerance's.
          const Tensor scaled = mul(y, rtol, at);
          const Tensor relative = abs(scaled, at);
          const Tensor allowed = add(relative, atol, 1, at);
          const Tensor difference = sub(x, y, 1, at);
          const Tensor distance = abs(difference, at);
          const Tensor is_near = le(distance, allowed, at);
          const Tensor is_finite = isfinite(distance, at);
          const Tensor within = logical_and(is_near, is_finite, at);
          out.push_back(logical_or(close, within, at));
        },
    .traits = {.not_differentiable = true},
};

SymbolList comparison_symbols() {
  static constexpr const Symbol* list[] = {
      &eq_symbol,         &ne_symbol,          &lt_symbol,         &le_symbol,          &gt_symbol,
      &ge_symbol,         &logical_and_symbol, &logical_or_symbol, &logical_xor_symbol, &bitwise_and_symbol,
      &bitwise_or_symbol, &bitwise_xor_symbol, &isclose_symbol,
  };
  return list;
}

}  // namespace fulgurite
