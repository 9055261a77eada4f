// Comparisons, and logical and bitwise operators of two operands.
#include "ops/families.h"
#include "ops/pointwise_rules.h"
#include "ops/symbols.h"

namespace fulgurite {

constinit const Symbol eq_symbol{
    .signature = "torch.eq(Tensor input, Operand other) -> Tensor",
    .documentation = "Whether elements are equal.",
    .infer = infer_comparison,
    .scalar = "{0} == {1}",
    .traits = {.pointwise = true, .not_differentiable = true},
};

constinit const Symbol ne_symbol{
    .signature = "torch.ne(Tensor input, Operand other) -> Tensor",
    .documentation = "Whether elements differ.",
    .infer = infer_comparison,
    .scalar = "{0} != {1}",
    .traits = {.pointwise = true, .not_differentiable = true},
};

constinit const Symbol lt_symbol{
    .signature = "torch.lt(Tensor input, Operand other) -> Tensor",
    .documentation = "Whether input is less than other.",
    .infer = infer_comparison,
    .scalar = "{0} < {1}",
    .traits = {.pointwise = true, .not_differentiable = true},
};

constinit const Symbol le_symbol{
    .signature = "torch.le(Tensor input, Operand other) -> Tensor",
    .documentation = "Whether input is at most other.",
    .infer = infer_comparison,
    .scalar = "{0} <= {1}",
    .traits = {.pointwise = true, .not_differentiable = true},
};

constinit const Symbol gt_symbol{
    .signature = "torch.gt(Tensor input, Operand other) -> Tensor",
    .documentation = "Whether input is greater than other.",
    .infer = infer_comparison,
    .scalar = "{0} > {1}",
    .traits = {.pointwise = true, .not_differentiable = true},
};

constinit const Symbol ge_symbol{
    .signature = "torch.ge(Tensor input, Operand other) -> Tensor",
    .documentation = "Whether input is at least other.",
    .infer = infer_comparison,
    .scalar = "{0} >= {1}",
    .traits = {.pointwise = true, .not_differentiable = true},
};

constinit const Symbol logical_and_symbol{
    .signature = "torch.logical_and(Tensor input, Tensor other) -> Tensor",
    .documentation = "Whether both elements are true or not zero.",
    .infer = infer_comparison,
    .scalar = "({0} != 0) & ({1} != 0)",
    .traits = {.pointwise = true, .not_differentiable = true},
};

constinit const Symbol logical_or_symbol{
    .signature = "torch.logical_or(Tensor input, Tensor other) -> Tensor",
    .documentation = "Whether either element is true or not zero.",
    .infer = infer_comparison,
    .scalar = "({0} != 0) | ({1} != 0)",
    .traits = {.pointwise = true, .not_differentiable = true},
};

constinit const Symbol logical_xor_symbol{
    .signature = "torch.logical_xor(Tensor input, Tensor other) -> Tensor",
    .documentation = "Whether one of two elements is true or not zero, and the other is not.",
    .infer = infer_comparison,
    .scalar = "({0} != 0) ^ ({1} != 0)",
    .traits = {.pointwise = true, .not_differentiable = true},
};

constinit const Symbol bitwise_and_symbol{
    .signature = "torch.bitwise_and(Operand input, Operand other) -> Tensor",
    .documentation = "The bits set in both integers; of booleans the logical and.",
    .infer = infer_bitwise,
    .scalar = "{0} & {1}",
    .traits = {.pointwise = true, .not_differentiable = true},
};

constinit const Symbol bitwise_or_symbol{
    .signature = "torch.bitwise_or(Operand input, Operand other) -> Tensor",
    .documentation = "The bits set in either integer; of booleans the logical or.",
    .infer = infer_bitwise,
    .scalar = "{0} | {1}",
    .traits = {.pointwise = true, .not_differentiable = true},
};

constinit const Symbol bitwise_xor_symbol{
    .signature = "torch.bitwise_xor(Operand input, Operand other) -> Tensor",
    .documentation = "The bits set in one of two integers only; of booleans the exclusive or.",
    .infer = infer_bitwise,
    .scalar = "{0} ^ {1}",
    .traits = {.pointwise = true, .not_differentiable = true},
};

SymbolList comparison_symbols() {
  static constexpr const Symbol* list[] = {
      &eq_symbol,          &ne_symbol,          &lt_symbol,          &le_symbol,
      &gt_symbol,          &ge_symbol,          &logical_and_symbol, &logical_or_symbol,
      &logical_xor_symbol, &bitwise_and_symbol, &bitwise_or_symbol,  &bitwise_xor_symbol,
  };
  return list;
}

}  // namespace fulgurite
