#pragma once
#include <optional>

#include "codegen/ir/kernel.h"
#include "ops/core/argument.h"

namespace fulgurite::codegen {

/// A pointwise operator as an expression, from the formula of its record.
struct Expression {
  ScalarExpr value;               // operand k: argument k of the call
  SmallVector<int, 4> arguments;  // the arguments that it reads
  Dtype read = Dtype::f32;        // the dtype they are converted to
  Dtype computed = Dtype::f32;    // the dtype of the expression's value, before it is converted to the result's
  bool is_costly = false;
  bool is_exact = false;  // maps numbers of a 16-bit dtype to numbers of that dtype
  int condition = -1;     // for a selection: the argument that selects
};
/// None for a call without an expression. Throws UserError for a formula whose types do not fit. `arguments` are
/// in the order of the signature.
std::optional<Expression> expression_of(const Symbol&, Arguments arguments, Dtype result);

}  // namespace fulgurite::codegen
