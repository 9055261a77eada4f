#pragma once
#include <array>
#include <string_view>

#include <fulgurite/dtype.h>
#include <fulgurite/symbol.h>

#include "ops/core/argument.h"
#include "support/containers/small_vector.h"

namespace fulgurite::codegen {

/// The arguments that an operator's formula reads, and the kind of its value.
struct FormulaShape {
  SmallVector<int, 4> arguments;  // the arguments that it reads, in the signature's order
  int condition = -1;             // the argument that `where` tests
  bool has_one_condition = true;  // false: `where` tests several arguments
  bool is_test = false;           // the value is a condition
  bool only_selects = false;      // it moves elements, whatever their dtype
  bool has_complement = false;
  std::array<int8_t, ScalarFormula::max_nodes> argument_of_node{};  // of nodes that are operands
};
/// Throws UserError if the formula has an operand that is not a parameter.
FormulaShape shape_of(const Symbol&, const ScalarFormula&);

/// The dtype that operands are converted to, and that of the formula's value, before it is converted to the result's.
struct FormulaDtypes {
  Dtype read = Dtype::f32, computed = Dtype::f32;
};
/// `arguments` are in the order of the signature.
FormulaDtypes dtypes_of(const FormulaShape&, Arguments arguments, Dtype result);

/// Rounding an integer changes nothing.
constexpr bool is_integral_rounding(ScalarOp op) {
  return op == ScalarOp::floor || op == ScalarOp::ceil || op == ScalarOp::round || op == ScalarOp::truncate;
}

/// The value of a number in a formula.
double number_in(const ScalarFormula&, ScalarFormula::Node number);

/// Throws UserError for a formula whose types do not fit.
[[noreturn]] void fail_formula(const Symbol&, const ScalarFormula&, std::string_view reason);

}  // namespace fulgurite::codegen
