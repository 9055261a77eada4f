#include "codegen/lowering/scalar_ops.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fulgurite/error.h>
#include <fulgurite/symbol.h>

#include "ops/core/dispatch.h"
#include "support/text/text.h"

namespace fulgurite::codegen {

namespace {

using Node = ScalarFormula::Node;

/// The dtype that arithmetic on a dtype is computed in, as in the eager kernels.
Dtype computed_in(Dtype dtype) {
  if (dtype == Dtype::f64 || dtype == Dtype::i64) return dtype;
  return is_floating(dtype) ? Dtype::f32 : Dtype::i32;
}

bool is_integer(Lanes type) { return type == Lanes::ints || type == Lanes::longs; }

bool is_integral_rounding(ScalarOp op) {
  return op == ScalarOp::floor || op == ScalarOp::ceil || op == ScalarOp::round || op == ScalarOp::truncate;
}

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
    if (formula_.empty() || !find_arguments() || !find_condition()) return std::nullopt;
    choose_dtypes();
    for (const Node node : formula_.nodes())
      if (!push(node)) return std::nullopt;
    out_.value = stack_.back();
    out_.is_costly = std::ranges::any_of(formula_.nodes(), is_costly, &Node::op);
    out_.is_exact = !tests_ && (std::ranges::all_of(formula_.nodes(), is_exact) || multiplies_by_power_of_two());
    return std::move(out_);
  }

 private:
  bool has(ScalarOp op) const { return std::ranges::find(formula_.nodes(), op, &Node::op) != formula_.nodes().end(); }

  int parameter_of(Node operand) const {
    const std::string_view name = formula_.text_of(operand);
    const auto parameters = symbol_.signature.params();
    const auto found = std::ranges::find(parameters, name, &Parameter::name);
    if (found == parameters.end()) fail(text::cat(name, " is not a parameter"));
    return static_cast<int>(found - parameters.begin());
  }

  /// Lists the arguments that the formula reads, in the signature's order; returns false if one has no elements.
  bool find_arguments() {
    bool is_read[Signature::max_parameters] = {};
    for (const Node node : formula_.nodes())
      if (node.op == ScalarOp::operand) is_read[parameter_of(node)] = true;
    for (int k = 0; k < Signature::max_parameters; ++k) {
      if (!is_read[k]) continue;
      const Argument& argument = arguments_[static_cast<size_t>(k)];
      if (!argument.is_tensor() && !argument.is_number()) return false;
      out_.arguments.push_back(k);
    }
    return true;
  }

  /// Finds the argument that `where` tests; returns false if there are several.
  bool find_condition() {
    SmallVector<Node, 8> roots;  // of the operands that are complete
    for (const Node node : formula_.nodes()) {
      for (size_t k = record_of(node.op).operands; k-- > 0;) {
        const Node operand = roots.back();
        roots.pop_back();
        if (node.op != ScalarOp::select || k > 0 || operand.op != ScalarOp::operand) continue;
        const int tested = parameter_of(operand);
        if (out_.condition >= 0 && out_.condition != tested) return false;
        out_.condition = tested;
      }
      roots.push_back(node);
    }
    return true;
  }

  void choose_dtypes() {
    const ScalarOp root = formula_.nodes().back().op;
    const bool joins = root == ScalarOp::bit_and || root == ScalarOp::bit_or || root == ScalarOp::bit_xor;
    tests_ = is_comparison(root) || (joins && std::ranges::any_of(formula_.nodes(), is_comparison, &Node::op));
    // Selections only move bits, and the complement of a boolean is a boolean: both keep the dtype.
    const bool selects = std::ranges::all_of(
        formula_.nodes(), [](Node n) { return n.op == ScalarOp::select || n.op == ScalarOp::operand; });
    const bool keeps_dtype =
        (selects && has(ScalarOp::select)) || (result_ == Dtype::boolean && has(ScalarOp::bit_not));
    out_.read = tests_ ? computed_in(dtype_of_operands()) : keeps_dtype ? result_ : computed_in(result_);
    out_.computed = tests_ ? Dtype::boolean : out_.read;
  }
  Dtype dtype_of_operands() const {
    SmallVector<Argument, 4> operands;
    for (const int k : out_.arguments)
      if (k != out_.condition) operands.push_back(arguments_[static_cast<size_t>(k)]);
    return result_dtype({operands.data(), operands.size()});
  }

  /// Returns false if the operation is not defined for the operands' type.
  bool push(Node node) {
    const Lanes type = lanes_of(out_.read);
    switch (node.op) {
      case ScalarOp::operand: {
        const int k = parameter_of(node);
        stack_.push_back(operand(k, k == out_.condition ? Lanes::mask : type));
        return true;
      }
      case ScalarOp::whole:
      case ScalarOp::number: return push_number(formula_.text_of(node), node.op, type);
      default: return push_operation(node.op);
    }
  }
  bool push_number(std::string_view number, ScalarOp op, Lanes type) {
    if (!accepts(op == ScalarOp::whole ? TypeClass::numbers : TypeClass::floating, type)) return false;
    double value = HUGE_VAL;
    if (number != "inf") std::from_chars(number.data(), number.data() + number.size(), value);
    stack_.push_back(op == ScalarOp::whole ? whole(static_cast<int>(value), type)
                                           : constant(Argument(Float(value)), out_.read));
    return true;
  }
  bool push_operation(ScalarOp op) {
    const size_t count = record_of(op).operands, first = stack_.size() - count;
    const ScalarExpr* operands[3] = {};
    for (size_t k = 0; k < count; ++k) operands[k] = &stack_[first + k];
    const Lanes type = operands[count - 1]->type();
    if (is_integral_rounding(op) && is_integer(type)) return true;  // integers are whole
    for (size_t k = op == ScalarOp::select ? 1 : 0; k < count; ++k)
      if (operands[k]->type() != type) fail("it combines a condition and a number");
    if (op == ScalarOp::select && operands[0]->type() != Lanes::mask) fail("where() tests a number");
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

  [[noreturn]] void fail(const std::string& reason) const {
    throw UserError(
        text::cat("the formula of ", symbol_.qualified_name(), ", ", formula_.text, ", has no value: ", reason));
  }

  const Symbol& symbol_;
  const Arguments arguments_;
  const Dtype result_;
  const ScalarFormula formula_;
  bool tests_ = false;  // the result is a condition
  Expression out_;
  SmallVector<ScalarExpr, 8> stack_;
};

}  // namespace

std::optional<Expression> expression_of(const Symbol& symbol, Arguments a, Dtype result) {
  return FormulaLowering(symbol, a, result).run();
}

}  // namespace fulgurite::codegen
