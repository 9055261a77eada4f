#include "ops/core/dispatch.h"

#include <algorithm>
#include <utility>

#include <fulgurite/operators.h>

#include "ops/core/autocast.h"
#include "ops/core/call_error.h"
#include "ops/core/recorder.h"
#include "support/base/deferred_error.h"
#include "support/thread_state.h"

namespace fulgurite {

namespace {

void call_before_next() {
  if (thread_state.before_next_call) [[unlikely]]
    std::exchange(thread_state.before_next_call, nullptr)();
}

bool has_undefined(const Argument& list) {
  return std::ranges::any_of(list.tensors(), [](const Tensor& tensor) { return !tensor.defined(); });
}

[[noreturn, gnu::cold]] void refuse_none(const Parameter& parameter) {
  throw_deferred_error();
  const bool is_tensor = parameter.type == Parameter::Type::tensor || parameter.type == Parameter::Type::operand;
  throw RuleError{
      is_tensor ? text::cat(parameter.name,
                            " is an undefined tensor: default-constructed, moved from, or a grad() before backward()")
                : text::cat(parameter.name, " is missing")};
}

[[noreturn, gnu::cold]] void refuse_none_in_list(const Parameter& parameter) {
  throw_deferred_error();
  throw RuleError{text::cat(
      parameter.name, " holds an undefined tensor: default-constructed, moved from, or a grad() before backward()")};
}

/// The C++ functions accept any handle, even an undefined one: only optional parameters may be omitted.
void check_required(const Symbol& symbol, Arguments arguments) {
  // A fusion's signature lists no parameters.
  const size_t count = std::min(arguments.size(), static_cast<size_t>(symbol.signature.parameter_count));
  for (size_t i = 0; i < count; ++i) {
    const Argument& argument = arguments[i];
    if (argument.is_none()) [[unlikely]] {
      if (!symbol.signature.parameters[i].optional) refuse_none(symbol.signature.parameters[i]);
    } else if (argument.kind() == Argument::Kind::tensors) [[unlikely]] {
      if (!symbol.signature.parameters[i].optional_elements && has_undefined(argument))
        refuse_none_in_list(symbol.signature.parameters[i]);
    }
  }
}

}  // namespace

Interpreter* innermost_interpreter() { return thread_state.interpreter; }

Recorder* innermost_recorder() { return thread_state.interpreter ? thread_state.interpreter->recorder() : nullptr; }

Recorder* recording_of(const Tensor& handle) {
  Recorder* recorder = innermost_recorder();
  while (recorder != nullptr && !recorder->records(handle)) recorder = recorder->outer_recorder();
  return recorder;
}

void before_next_call(void (*run)()) { thread_state.before_next_call = run; }

InterpreterScope::InterpreterScope(Interpreter* interpreter)
    : previous_(thread_state.interpreter), autocast_(thread_state.autocast) {
  call_before_next();
  thread_state.interpreter = interpreter;
  thread_state.autocast = std::nullopt;
}
InterpreterScope::~InterpreterScope() {
  call_before_next();
  thread_state.interpreter = previous_;
  thread_state.autocast = autocast_;
  if (!previous_) forget_deferred_error();
}

std::optional<Dtype> autocast_dtype() { return thread_state.autocast; }

AutocastScope::AutocastScope(std::optional<Dtype> dtype) : previous_(thread_state.autocast) {
  thread_state.autocast = dtype;
}
AutocastScope::~AutocastScope() { thread_state.autocast = previous_; }

void dispatch(const Symbol& symbol, Arguments arguments, SourceLocation at, Results& results) {
  call_before_next();
  if (thread_state.autocast) [[unlikely]]
    return dispatch_autocast(symbol, arguments, at, results, *thread_state.autocast);
  dispatch_plainly(symbol, arguments, at, results);
}

void dispatch_plainly(const Symbol& symbol, Arguments arguments, SourceLocation at, Results& results) {
  try {
    check_required(symbol, arguments);
    if (thread_state.interpreter) thread_state.interpreter->run(symbol, arguments, at, results);
    else run_eager(symbol, arguments, at, results);
  } catch (const RuleError& error) {
    throw CallError(call_text(symbol, arguments), error.message, at);
  } catch (const UnlocatedError& error) {
    throw CallError(call_text(symbol, arguments), error.what(), at);
  } catch (const CallError& error) {
    // The calls of a decomposition have the source line of the composite. Others are the user's own.
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
