#include "ops/dispatch.h"

#include <fulgurite/operators.h>

#include "ops/call_error.h"

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
    throw CallError(call_text(symbol, arguments), error.message, at);
  } catch (const UnplacedError& error) {
    throw CallError(call_text(symbol, arguments), error.what(), at);
  } catch (const CallError& error) {
    // A decomposition's calls have the line of the call that it stands for. Others are the user's own.
    if (!(error.at() == at)) throw;
    throw CallError(call_text(symbol, arguments), error, at);
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
