#include "ops/dispatch.h"

#include <fulgurite/operators.h>

#include "ops/autocast.h"
#include "ops/call_error.h"

namespace fulgurite {

namespace {

// The interpreter and the mode that belongs to it.
struct Innermost {
  Interpreter* interpreter = nullptr;
  std::optional<Dtype> autocast;
};
thread_local constinit Innermost innermost;

}  // namespace

Interpreter* innermost_interpreter() { return innermost.interpreter; }

InterpreterScope::InterpreterScope(Interpreter* interpreter) : previous_(innermost.interpreter), autocast_(innermost.autocast) {
  innermost = {interpreter, std::nullopt};
}
InterpreterScope::~InterpreterScope() { innermost = {previous_, autocast_}; }

std::optional<Dtype> autocast_dtype() { return innermost.autocast; }

AutocastScope::AutocastScope(std::optional<Dtype> dtype) : previous_(innermost.autocast) { innermost.autocast = dtype; }
AutocastScope::~AutocastScope() { innermost.autocast = previous_; }

void dispatch(const Symbol& symbol, Arguments arguments, SourceLocation at, Results& results) {
  if (innermost.autocast) [[unlikely]] return dispatch_autocast(symbol, arguments, at, results, *innermost.autocast);
  dispatch_plainly(symbol, arguments, at, results);
}

void dispatch_plainly(const Symbol& symbol, Arguments arguments, SourceLocation at, Results& results) {
  try {
    if (innermost.interpreter) innermost.interpreter->run(symbol, arguments, at, results);
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
