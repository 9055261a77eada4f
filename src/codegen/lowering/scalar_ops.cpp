#include "codegen/lowering/scalar_ops.h"

#include <algorithm>
#include <cmath>

#include <fulgurite/symbol.h>

#include "codegen/lowering/formula_shape.h"

namespace fulgurite::codegen {

namespace {

using Node = ScalarFormula::Node;

bool is_integer(Lanes type) { return type == Lanes::ints || type == Lanes::longs; }

/// Returns true for what takes much longer than a product.
bool is_costly(ScalarOp op) { return op == ScalarOp::divide || op == ScalarOp::remainder || op >= ScalarOp::sqrt; }

/// Returns true if numbers of a 16-bit dtype give numbers of that dtype.
bool is_exact(Node node) {
  switch (node.op) {
    case ScalarOp::whole: return node.length <= 2;
    case ScalarOp::operand:
    case ScalarOp::remainder:
    case ScalarOp::negate:
    case ScalarOp::absolute:
    case ScalarOp::sign:
    case ScalarOp::copy_sign:
    case ScalarOp::maximum:
    case ScalarOp::minimum:
    case ScalarOp::select: return true;
    default: return is_integral_rounding(node.op);
  }
}

// Returns true for a factor that moves the exponent up: bf16 overflows where f32 does, and no digits are lost.
bool is_large_power_of_two(const Argument& factor) {
  if (!factor.is_number()) return false;
  int exponent = 0;
  return std::fabs(std::frexp(factor.floating().hint(), &exponent)) == 0.5 && exponent >= 1 && exponent <= 100;
}

/// A call's formula as a typed expression. Operands and numbers have one dtype, but for what `where` tests.
class FormulaLowering {
 public:
  FormulaLowering(const Symbol& symbol, Arguments arguments, Dtype result)
      : symbol_(symbol), arguments_(arguments), result_(result), formula_(symbol.scalar.of(arguments, result)) {}

  std::optional<Expression> run() {
    if (formula_.empty()) return std::nullopt;
    shape_ = shape_of(symbol_, formula_);
    if (!shape_.has_one_condition || !have_elements()) return std::nullopt;
    const FormulaDtypes dtypes = dtypes_of(shape_, arguments_, result_);
    out_.read = dtypes.read;
    out_.computed = dtypes.computed;
    out_.arguments = shape_.arguments;
    out_.condition = shape_.condition;
    for (size_t i = 0; i < formula_.nodes().size(); ++i)
      if (!push(i)) return std::nullopt;
    out_.value = stack_.back();
    out_.is_costly = std::ranges::any_of(formula_.nodes(), is_costly, &Node::op);
    out_.is_exact =
        !shape_.is_test && (std::ranges::all_of(formula_.nodes(), is_exact) || multiplies_by_power_of_two());
    return std::move(out_);
  }

 private:
  bool have_elements() const {
    return std::ranges::all_of(shape_.arguments, [this](int k) {
      const Argument& argument = arguments_[static_cast<size_t>(k)];
      return argument.is_tensor() || argument.is_number();
    });
  }

  /// Returns false if the operation is not defined for the operands' type.
  bool push(size_t i) {
    const Lanes type = lanes_of(out_.read);
    const Node node = formula_.nodes()[i];
    switch (node.op) {
      case ScalarOp::operand: {
        const int k = shape_.argument_of_node[i];
        stack_.push_back(operand(k, k == out_.condition ? Lanes::mask : type));
        return true;
      }
      case ScalarOp::whole:
      case ScalarOp::number: return push_number(node, type);
      default: return push_operation(node.op);
    }
  }
  bool push_number(Node number, Lanes type) {
    const bool is_whole = number.op == ScalarOp::whole;
    if (!accepts(is_whole ? TypeClass::numbers : TypeClass::floating, type)) return false;
    const double value = number_in(formula_, number);
    stack_.push_back(is_whole ? whole(static_cast<int>(value), type) : constant(Argument(Float(value)), out_.read));
    return true;
  }
  bool push_operation(ScalarOp op) {
    const size_t count = record_of(op).operands, first = stack_.size() - count;
    const ScalarExpr* operands[3] = {};
    for (size_t k = 0; k < count; ++k) operands[k] = &stack_[first + k];
    const Lanes type = operands[count - 1]->type();
    if (is_integral_rounding(op) && is_integer(type)) return true;  // integers are whole
    for (size_t k = op == ScalarOp::select ? 1 : 0; k < count; ++k)
      if (operands[k]->type() != type) fail_formula(symbol_, formula_, "it combines a condition and a number");
    if (op == ScalarOp::select && operands[0]->type() != Lanes::mask)
      fail_formula(symbol_, formula_, "where() tests a number");
    if (!accepts(record_of(op).type, type)) return false;
    ScalarExpr value = apply(op, is_comparison(op) ? Lanes::mask : type, {operands, count});
    for (size_t k = 0; k < count; ++k) stack_.pop_back();
    stack_.push_back(std::move(value));
    return true;
  }

  bool multiplies_by_power_of_two() const {
    return result_ == Dtype::bf16 && formula_.count == 3 && formula_.nodes().back().op == ScalarOp::multiply &&
           std::ranges::any_of(out_.arguments,
                               [this](int k) { return is_large_power_of_two(arguments_[static_cast<size_t>(k)]); });
  }

  const Symbol& symbol_;
  const Arguments arguments_;
  const Dtype result_;
  const ScalarFormula formula_;
  FormulaShape shape_;
  Expression out_;
  SmallVector<ScalarExpr, 8> stack_;
};

}  // namespace

std::optional<Expression> expression_of(const Symbol& symbol, Arguments a, Dtype result) {
  return FormulaLowering(symbol, a, result).run();
}

}  // namespace fulgurite::codegen
