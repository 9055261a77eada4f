#include "ops/dispatch.h"

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

namespace fulgurite {

namespace {

thread_local constinit Interpreter* innermost = nullptr;

}  // namespace

Interpreter* innermost_interpreter() { return innermost; }

InterpreterScope::InterpreterScope(Interpreter* interpreter) : previous_(innermost) { innermost = interpreter; }
InterpreterScope::~InterpreterScope() { innermost = previous_; }

void dispatch(const Symbol& symbol, Arguments arguments, SourceLocation at, Results& results) {
  try {
    if (innermost) innermost->run(symbol, arguments, at, results);
    else run_eager(symbol, arguments, at, results);
  } catch (const RuleError& error) {
    throw UserError(text::cat(call_text(symbol, arguments), ": ", error.message), at);
  }
}

Tensor dispatch(const Symbol& symbol, Arguments arguments, SourceLocation at) {
  Results results;
  dispatch(symbol, arguments, at, results);
  return std::move(results[0]);
}

Tensor Gradient::cotangent_or_zeros(size_t i) const {
  if (cotangents_[i].defined()) return cotangents_[i];
  const Tensor& result = results_[i];
  return zeros(result.shape(), {.dtype = result.dtype(), .device = result.device()});
}

bool Gradient::needs(size_t i, size_t element) const {
  const Argument& argument = arguments_[i];
  const Tensor* tensor = nullptr;
  if (argument.is_tensor()) tensor = &argument.tensor();
  else if (argument.kind() == Argument::Kind::tensors) tensor = &argument.tensors()[element];
  return tensor && tensor->defined() && is_floating(tensor->dtype()) && tensor->requires_grad();
}

}  // namespace fulgurite
