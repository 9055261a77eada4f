// Interpreters of a program's own: OperatorInterpreter, as an Interpreter that stands in the one outside.
#include <fulgurite/error.h>
#include <fulgurite/interpreter.h>

#include "ir/analysis/operation_count.h"
#include "ops/core/dispatch.h"
#include "tracing/argument_value.h"

namespace fulgurite {

namespace detail {

/// A call on its way through an interpreter, which stands in `outer`.
struct CallInProgress {
  const Symbol& symbol;
  Arguments arguments;
  SourceLocation at;
  Interpreter& interpreter;
};

/// Passes calls to a program's interpreter.
class OuterInterpreter final : public Interpreter {
 public:
  explicit OuterInterpreter(OperatorInterpreter& given) : Interpreter(innermost_interpreter()), given_(given) {}

  void run(const Symbol& symbol, Arguments arguments, SourceLocation at, Results& results) override {
    const InterpreterScope scope(outer());
    const CallInProgress call{symbol, arguments, at, *this};
    const std::vector<Tensor> found = given_.run(InterpretedCall(call));
    check_count(symbol, found.size());
    for (const Tensor& result : found) results.push_back(result);
  }
  void demand_value(const Tensor& tensor, const char* what, SourceLocation at) override {
    {
      const InterpreterScope scope(outer());
      given_.read_elements(tensor, what, at);
    }
    Interpreter::demand_value(tensor, what, at);
  }

 private:
  static void check_count(const Symbol& symbol, size_t count) {
    const int wanted = symbol.signature.result_count;
    if (wanted != Signature::list && count != static_cast<size_t>(wanted))
      throw RuleError{text::cat("the interpreter returned ", count, " tensors, the operator has ", wanted, " results")};
  }

  OperatorInterpreter& given_;
  const InterpreterScope scope_{this};  // the last member: the interpreter is complete when it becomes the innermost
};

}  // namespace detail

namespace {

Value value_of(const Argument& argument) {
  return value_of_argument(argument, [](const Tensor& tensor) { return Value(tensor); });
}

std::vector<Tensor> as_vector(const Results& results) { return {results.begin(), results.end()}; }

}  // namespace

const Symbol& InterpretedCall::symbol() const { return call_.symbol; }
SourceLocation InterpretedCall::source() const { return call_.at; }

std::vector<Value> InterpretedCall::arguments() const {
  std::vector<Value> values;
  for (const Argument& argument : call_.arguments) values.push_back(value_of(argument));
  return values;
}

std::vector<Tensor> InterpretedCall::run() const {
  Interpreter* const outer = call_.interpreter.outer();
  const InterpreterScope scope(outer);
  Results results;
  if (outer) outer->run(call_.symbol, call_.arguments, call_.at, results);
  else run_eager(call_.symbol, call_.arguments, call_.at, results);
  return as_vector(results);
}

std::vector<Tensor> InterpretedCall::decompose() const {
  if (call_.symbol.decompose == nullptr) return run();
  const InterpreterScope scope(&call_.interpreter);
  Results results;
  call_.symbol.decompose(call_.arguments, results, call_.at);
  return as_vector(results);
}

int64_t InterpretedCall::operations(const std::vector<Tensor>& results) const {
  BoundSymbol bound;
  bound.symbol = &call_.symbol;
  bound.args = arguments();
  std::vector<Value> outputs;
  for (const Tensor& result : results) outputs.push_back(result.defined() ? Value(result) : Value());
  bound.outputs = std::move(outputs);
  return operation_count(bound);
}

OperatorInterpreter::~OperatorInterpreter() = default;

WithInterpreter::WithInterpreter(OperatorInterpreter& given)
    : interpreter_(std::make_unique<detail::OuterInterpreter>(given)) {}
WithInterpreter::~WithInterpreter() = default;

}  // namespace fulgurite
