#include "codegen/lowering/formula_shape.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fulgurite/error.h>
#include <fulgurite/symbol.h>

#include "codegen/ir/scalar_op.h"
#include "ops/core/dispatch.h"
#include "support/text/text.h"

namespace fulgurite::codegen {

namespace {

using Node = ScalarFormula::Node;

int parameter_of(const Symbol& symbol, const ScalarFormula& formula, Node operand) {
  const std::string_view name = formula.text_of(operand);
  const auto parameters = symbol.signature.params();
  const auto found = std::ranges::find(parameters, name, &Parameter::name);
  if (found == parameters.end()) fail_formula(symbol, formula, text::cat(name, " is not a parameter"));
  return static_cast<int>(found - parameters.begin());
}

void find_arguments(const Symbol& symbol, const ScalarFormula& formula, FormulaShape& shape) {
  bool is_read[Signature::max_parameters] = {};
  for (size_t i = 0; i < formula.nodes().size(); ++i) {
    if (formula.nodes()[i].op != ScalarOp::operand) continue;
    const int parameter = parameter_of(symbol, formula, formula.nodes()[i]);
    shape.argument_of_node[i] = static_cast<int8_t>(parameter);
    is_read[parameter] = true;
  }
  for (int k = 0; k < Signature::max_parameters; ++k)
    if (is_read[k]) shape.arguments.push_back(k);
}

void find_condition(const ScalarFormula& formula, FormulaShape& shape) {
  SmallVector<size_t, 8> roots;  // of the operands that are complete
  for (size_t i = 0; i < formula.nodes().size(); ++i) {
    const ScalarOp op = formula.nodes()[i].op;
    for (size_t k = record_of(op).operands; k-- > 0;) {
      const size_t operand = roots.back();
      roots.pop_back();
      if (op != ScalarOp::select || k > 0 || formula.nodes()[operand].op != ScalarOp::operand) continue;
      const int tested = shape.argument_of_node[operand];
      shape.has_one_condition = shape.has_one_condition && (shape.condition < 0 || shape.condition == tested);
      shape.condition = tested;
    }
    roots.push_back(i);
  }
}

/// The dtype that arithmetic on a dtype is computed in, as in the eager kernels.
Dtype computed_in(Dtype dtype) {
  if (dtype == Dtype::f64 || dtype == Dtype::i64) return dtype;
  return is_floating(dtype) ? Dtype::f32 : Dtype::i32;
}

Dtype dtype_of_operands(const FormulaShape& shape, Arguments arguments) {
  if (shape.condition < 0 && shape.arguments.size() == arguments.size()) return result_dtype(arguments);
  SmallVector<Argument, 4> operands;
  for (const int k : shape.arguments)
    if (k != shape.condition) operands.push_back(arguments[static_cast<size_t>(k)]);
  return result_dtype({operands.data(), operands.size()});
}

}  // namespace

FormulaShape shape_of(const Symbol& symbol, const ScalarFormula& formula) {
  FormulaShape shape;
  find_arguments(symbol, formula, shape);
  find_condition(formula, shape);
  const auto has = [&](auto predicate) { return std::ranges::any_of(formula.nodes(), predicate, &Node::op); };
  const ScalarOp root = formula.nodes().back().op;
  const bool joins = root == ScalarOp::bit_and || root == ScalarOp::bit_or || root == ScalarOp::bit_xor;
  shape.is_test = is_comparison(root) || (joins && has(is_comparison));
  // Selections only move bits, and the complement of a boolean is a boolean: both keep the dtype.
  shape.only_selects =
      root == ScalarOp::select && !has([](ScalarOp op) { return op != ScalarOp::select && op != ScalarOp::operand; });
  shape.has_complement = has([](ScalarOp op) { return op == ScalarOp::bit_not; });
  return shape;
}

FormulaDtypes dtypes_of(const FormulaShape& shape, Arguments arguments, Dtype result) {
  if (shape.is_test) return {computed_in(dtype_of_operands(shape, arguments)), Dtype::boolean};
  const bool keeps_dtype = shape.only_selects || (result == Dtype::boolean && shape.has_complement);
  const Dtype read = keeps_dtype ? result : computed_in(result);
  return {read, read};
}

double number_in(const ScalarFormula& formula, Node number) {
  const std::string_view text = formula.text_of(number);
  double value = HUGE_VAL;
  if (text != "inf") std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void fail_formula(const Symbol& symbol, const ScalarFormula& formula, std::string_view reason) {
  throw UserError(
      text::cat("the formula of ", symbol.qualified_name(), ", ", formula.text, ", has no value: ", reason));
}

}  // namespace fulgurite::codegen
