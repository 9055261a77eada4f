// Kernels made from the formulas in operators' records.
#include "executors/eager/kernels/elementwise/formula.h"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include <fulgurite/error.h>

#include "codegen/ir/scalar_op.h"
#include "codegen/lowering/formula_shape.h"
#include "executors/eager/kernels.h"
#include "executors/eager/kernels/elementwise/scalar_rows.h"
#include "ops/generated/formulas.h"
#include "support/containers/first_use.h"

namespace fulgurite::FULGURITE_KERNELS {

namespace {

constexpr int64_t block = 256;  // elements of a value that are computed at a time
constexpr int64_t slot_bytes = block * 8;
using Slot = std::array<char, slot_bytes>;

}  // namespace

/// A formula on operands of one dtype. Its values are numbered: operands, numbers, results of steps.
struct FormulaProgram {
  struct Step {
    Row row = nullptr;
    std::array<uint8_t, 3> operands{};
  };
  Pointwise pointwise;            // no row: the formula is not defined for the dtype
  SmallVector<int, 4> arguments;  // the arguments of a call that are the operands
  std::vector<Slot> numbers;      // repeated for a block
  std::vector<Step> steps;
  std::array<int64_t, max_operands> operand_sizes{};  // bytes of an element, as of the result
  int64_t result_size = 0;
};

namespace {

/// The row function of a formula of several operations.
void formula_row(const void* const* operands, void* result, int64_t count, const RowParameters& parameters) {
  const FormulaProgram& program = *parameters.program;
  const size_t first_number = program.arguments.size(), first_step = first_number + program.numbers.size();
  alignas(64) char slots[ScalarFormula::max_nodes][slot_bytes];
  const void* values[max_operands + ScalarFormula::max_nodes];
  for (size_t i = 0; i < program.numbers.size(); ++i) values[first_number + i] = program.numbers[i].data();
  for (int64_t at = 0; at < count; at += block) {
    const int64_t length = std::min(block, count - at);
    for (size_t k = 0; k < first_number; ++k)
      values[k] = static_cast<const char*>(operands[k]) + at * program.operand_sizes[k];
    for (size_t i = 0; i < program.steps.size(); ++i) {
      const FormulaProgram::Step& step = program.steps[i];
      const void* const inputs[] = {values[step.operands[0]], values[step.operands[1]], values[step.operands[2]]};
      const bool is_last = i + 1 == program.steps.size();
      void* const to = is_last ? static_cast<char*>(result) + at * program.result_size : slots[i];
      step.row(inputs, to, length, parameters);
      values[first_step + i] = to;
    }
  }
}

class ProgramBuilder {
 public:
  ProgramBuilder(const Symbol& symbol, const ScalarFormula& formula, const codegen::FormulaShape& shape,
                 codegen::FormulaDtypes dtypes)
      : symbol_(symbol), formula_(formula), shape_(shape), dtypes_(dtypes) {}

  FormulaProgram run() {
    out_.arguments = shape_.arguments;
    if (out_.arguments.size() > max_operands)
      codegen::fail_formula(symbol_, formula_, "an eager kernel reads at most four operands");
    first_step_ = out_.arguments.size() + static_cast<size_t>(std::ranges::count_if(formula_.nodes(), is_number));
    for (size_t i = 0; i < formula_.nodes().size(); ++i)
      if (!push(i)) return {};
    describe();
    return std::move(out_);
  }

 private:
  struct Value {
    size_t index = 0;
    Dtype dtype = Dtype::f32;
  };
  static bool is_number(ScalarFormula::Node node) { return node.op == ScalarOp::whole || node.op == ScalarOp::number; }

  /// Returns false if the node has no value for operands of the dtype.
  bool push(size_t i) {
    const ScalarFormula::Node node = formula_.nodes()[i];
    if (node.op == ScalarOp::operand) return push_operand(shape_.argument_of_node[i]);
    return is_number(node) ? push_number(node) : push_operation(node.op);
  }
  bool push_operand(int argument) {
    const auto found = std::find(out_.arguments.begin(), out_.arguments.end(), argument);
    stack_.push_back({static_cast<size_t>(found - out_.arguments.begin()), dtype_of(argument)});
    return true;
  }
  Dtype dtype_of(int argument) const { return argument == shape_.condition ? Dtype::boolean : dtypes_.read; }
  bool push_number(ScalarFormula::Node number) {
    if (number.op == ScalarOp::number && !is_floating(dtypes_.read)) return false;
    stack_.push_back({out_.arguments.size() + out_.numbers.size(), dtypes_.read});
    Slot& slot = out_.numbers.emplace_back();
    alignas(8) char element[8];
    write_number(Float(codegen::number_in(formula_, number)), dtypes_.read, element);
    find_conversion(dtypes_.read, dtypes_.read)(element, 0, slot.data(), block);
    return true;
  }
  bool push_operation(ScalarOp op) {
    const size_t count = codegen::record_of(op).operands, first = stack_.size() - count;
    const Dtype dtype = stack_.back().dtype;
    if (codegen::is_integral_rounding(op) && !is_floating(dtype)) return true;
    FormulaProgram::Step step{.row = find_scalar_row(op, dtype)};
    if (step.row == nullptr) return false;
    for (size_t k = 0; k < count; ++k) step.operands[k] = static_cast<uint8_t>(stack_[first + k].index);
    while (stack_.size() > first) stack_.pop_back();
    stack_.push_back({first_step_ + out_.steps.size(), codegen::is_comparison(op) ? Dtype::boolean : dtype});
    out_.steps.push_back(step);
    out_.pointwise.grain = std::min(out_.pointwise.grain, grain_of(op));
    out_.pointwise.can_divide_by_zero |= op == ScalarOp::divide || op == ScalarOp::remainder;
    return true;
  }

  /// One operation on different operands is its row function.
  bool is_one_row() const {
    if (out_.steps.size() != 1 || !out_.numbers.empty()) return false;
    const std::array<uint8_t, 3>& operands = out_.steps[0].operands;
    for (size_t k = 1; k < out_.arguments.size(); ++k)
      if (std::find(operands.begin(), operands.begin() + k, operands[k]) != operands.begin() + k) return false;
    return out_.arguments.size() == codegen::record_of(formula_.nodes().back().op).operands;
  }
  void describe() {
    if (is_one_row()) {
      for (size_t k = 0; k < out_.arguments.size(); ++k)
        out_.arguments[k] = shape_.arguments[out_.steps[0].operands[k]];
      out_.pointwise.row = out_.steps[0].row;
    } else {
      out_.pointwise.row = out_.steps.empty() ? find_copy_row(dtypes_.read) : formula_row;
    }
    for (size_t k = 0; k < out_.arguments.size(); ++k) {
      out_.pointwise.operand_dtypes[k] = dtype_of(out_.arguments[k]);
      out_.operand_sizes[k] = size_of(out_.pointwise.operand_dtypes[k]);
    }
    out_.pointwise.result_dtype = dtypes_.computed;
    out_.result_size = size_of(dtypes_.computed);
  }

  const Symbol& symbol_;
  const ScalarFormula& formula_;
  const codegen::FormulaShape& shape_;
  const codegen::FormulaDtypes dtypes_;
  size_t first_step_ = 0;
  SmallVector<Value, 16> stack_;
  FormulaProgram out_;
};

void run_program(const FormulaProgram& program, Arguments arguments, const Tensor& result) {
  RowParameters parameters;
  parameters.program = &program;
  const auto operand = [&](size_t k) { return &arguments[static_cast<size_t>(program.arguments[k])]; };
  const Pointwise& pointwise = program.pointwise;
  switch (program.arguments.size()) {
    case 1: return run_pointwise(pointwise, {operand(0)}, result, parameters);
    case 2: return run_pointwise(pointwise, {operand(0), operand(1)}, result, parameters);
    case 3: return run_pointwise(pointwise, {operand(0), operand(1), operand(2)}, result, parameters);
    default: return run_pointwise(pointwise, {operand(0), operand(1), operand(2), operand(3)}, result, parameters);
  }
}

}  // namespace

/// A formula that calls had, with its programs.
struct FormulaKernel::Choice {
  Choice(const Symbol& symbol, const ScalarFormula& formula, const Choice* next)
      : formula(formula), shape(codegen::shape_of(symbol, formula)), next(next) {}

  const ScalarFormula formula;
  const codegen::FormulaShape shape;
  const Choice* next;
  mutable std::array<FirstUse<FormulaProgram>, dtype_count> programs{};  // by the dtype that operands are read in
};

const FormulaKernel::Choice& FormulaKernel::prepared(const ScalarFormula& formula) const {
  const Choice* first = choices_.load(std::memory_order_acquire);
  // A rule spells each of its formulas once.
  for (const Choice* one = first; one; one = one->next)
    if (one->formula.text.data() == formula.text.data()) return *one;
  auto made = std::make_unique<Choice>(symbol_, formula, first);
  while (!choices_.compare_exchange_weak(made->next, made.get(), std::memory_order_acq_rel)) {
  }
  return *made.release();
}

bool FormulaKernel::run(Arguments arguments, const Tensor& result) const {
  const Dtype dtype = result.impl()->dtype;
  const ScalarFormula formula = symbol_.scalar.of(arguments, dtype);
  if (formula.empty()) return false;
  const Choice& choice = prepared(formula);
  const codegen::FormulaDtypes dtypes = codegen::dtypes_of(choice.shape, arguments, dtype);
  const FormulaProgram& program = choice.programs[static_cast<size_t>(dtypes.read)].get(
      [&] { return ProgramBuilder(symbol_, choice.formula, choice.shape, dtypes).run(); });
  if (program.pointwise.row == nullptr) return false;
  run_program(program, arguments, result);
  return true;
}

namespace {

template <const Symbol& symbol>
void kernel_of(Arguments arguments, std::span<const Tensor> results) {
  if (!run_formula<symbol>(arguments, results))
    throw InternalError("the formula of " + std::string(symbol.qualified_name()) + " has no value for a call's dtype");
}

template <const Symbol&... symbols>
constexpr std::array<KernelEntry, sizeof...(symbols)> entries_of(SymbolPack<symbols...>) {
  return {KernelEntry{.symbol = &symbols, .kernel = kernel_of<symbols>}...};
}
constexpr auto table = entries_of(SymbolsWithFormulas());

}  // namespace

KernelTable formula_kernels() { return table; }

}  // namespace fulgurite::FULGURITE_KERNELS
