// Execution of operator calls outside traces.
#include <algorithm>

#include "autograd/checkpoint/outside_writes.h"
#include "autograd/compiled/compiled_node.h"
#include "autograd/eager/eager_node.h"
#include "autograd/eager/execute.h"
#include "autograd/eager/in_place.h"
#include "executors/gradient_rules.h"
#include "ops/core/call_error.h"
#include "ir/structural.h"
#include "tensor/pending.h"
#include "tensor/write_count.h"
#include "tracing/trace_handles.h"

namespace fulgurite {

namespace {

bool requires_grad(const Argument& argument) {
  if (argument.is_tensor()) return argument.tensor().impl()->requires_grad;
  if (argument.kind() == Argument::Kind::tensors) {
    for (const Tensor& tensor : argument.tensors())
      if (tensor.defined() && tensor.impl()->requires_grad) return true;
  }
  if (argument.kind() == Argument::Kind::list) {
    for (const Argument& item : argument.list())
      if (requires_grad(item)) return true;
  }
  return false;
}

void check_concrete(const Tensor& tensor) {
  if (tensor.defined() && tensor.impl()->proxy) refuse_stray_proxy(tensor);
}

void check_concrete(const Argument& argument) {
  if (argument.is_tensor()) check_concrete(argument.tensor());
  if (argument.kind() == Argument::Kind::tensors)
    for (const Tensor& tensor : argument.tensors()) check_concrete(tensor);
  if (argument.kind() == Argument::Kind::list)
    for (const Argument& item : argument.list()) check_concrete(item);
}

void bring_histories_up_to_date(const Argument& argument) {
  if (argument.is_tensor() && argument.tensor().impl()->base) bring_history_up_to_date(argument.tensor());
  if (argument.kind() == Argument::Kind::tensors)
    for (const Tensor& tensor : argument.tensors())
      if (tensor.defined()) bring_history_up_to_date(tensor);
  if (argument.kind() == Argument::Kind::list)
    for (const Argument& item : argument.list()) bring_histories_up_to_date(item);
}

bool records(const Symbol& symbol, Arguments arguments) {
  if (symbol.traits.not_differentiable || !grad_enabled()) return false;
  bool any = false;
  for (const Argument& argument : arguments) {
    bring_histories_up_to_date(argument);
    any = any || requires_grad(argument);
  }
  return any;
}

// A result that is an argument gets its own handle, so that both can have a history.
void separate_from_arguments(std::span<const Tensor* const> inputs, Results& results) {
  for (Tensor& result : results)
    for (const Tensor* input : inputs)
      if (result.is_same(*input)) result = without_history(result);
}

void run_forward_program(const EagerFunction& function, std::span<const Tensor* const> inputs, Results& results) {
  std::vector<Tensor> arguments, computed, outputs;
  for (const size_t position : function.input_positions()) arguments.push_back(*inputs[position]);
  const CompiledFunction& compiled = function.forward_program()->compiled;
  try {
    compiled.forward->run(arguments, computed);
  } catch (const CallError& error) {
    throw UnlocatedError(error.complaint());  // its source line is that of the first such call
  }
  const auto count = static_cast<std::ptrdiff_t>(function.output_count());
  std::vector<Tensor> saved(computed.begin() + count, computed.end());
  outputs.assign(computed.begin(), computed.begin() + count);
  for (const Tensor& output : outputs) results.push_back(output);
  separate_from_arguments(inputs, results);
  outputs.assign(results.begin(), results.end());
  attach_compiled_node(arguments, outputs, std::move(saved), compiled.backward, function.node_name(), compiled.forward);
}

// Marks the results of a call in inference mode. A view of a normal tensor is a normal tensor.
void make_inference_tensors(Arguments arguments, Results& results) {
  const auto inputs = tensors_of(arguments);
  for (const Tensor& result : results) {
    const auto shares = [&](const Tensor* input) {
      return input->defined() && input->impl()->storage == result.impl()->storage;
    };
    if (result.impl()->storage && std::none_of(inputs.begin(), inputs.end(), shares))
      result.impl()->storage->version.store(uncounted, std::memory_order_relaxed);
  }
}

void run_recorded(const Symbol& symbol, Arguments arguments, SourceLocation at, Results& results) {
  EagerCall call = eager_function(symbol, arguments, at);
  const std::shared_ptr<EagerFunction> function = call.function;
  const auto inputs = tensors_of(arguments);
  const std::span<const Tensor* const> input_span(inputs.data(), inputs.size());
  if (function->forward_program()) return run_forward_program(*function, input_span, results);
  {
    const GradModeScope no_grad(false);
    execute(symbol, arguments, at, results);
  }
  separate_from_arguments(input_span, results);
  const uint64_t structure_hash =
      call.values.empty() ? function->structure_hash() : call_structure_hash(symbol, arguments);
  const auto node = std::make_shared<EagerNode>(std::move(call), structure_hash, input_span,
                                                std::span<const Tensor>(results.data(), results.size()), at);
  for (size_t i = 0; i < results.size(); ++i)
    if (is_floating(results[i].dtype())) set_history(results[i], node, static_cast<int>(i));
}

void run_call(const Symbol& symbol, Arguments arguments, SourceLocation at, Results& results) {
  if (is_write(symbol)) {
    // Pending values computed from the written tensor need its old elements.
    if (PendingValues* const values = pending_values()) values->finish_all();
    if (OutsideWrites::is_recording()) OutsideWrites::note_write(arguments[1].tensor());
    write_eagerly(arguments[0].tensor(), arguments[1].tensor(), at);
    results.push_back(arguments[1].tensor());
    return;
  }
  if (!records(symbol, arguments)) {
    execute(symbol, arguments, at, results);
    if (in_inference_mode()) [[unlikely]]
      make_inference_tensors(arguments, results);
    return;
  }
  if (symbol.gradient) return run_recorded(symbol, arguments, at, results);
  if (has_default_rule(symbol, arguments)) return run_recorded(symbol, arguments, at, results);
  if (symbol.decompose) return symbol.decompose(arguments, results, at);
  execute(symbol, arguments, at, results);
  for (const Tensor& result : results)
    if (is_floating(result.dtype()))
      throw RuleError{
          "it has no gradient rule, and an argument requires grad; register a grad transform, or an augmented "
          "forward and a backward, or call it under NoGrad"};
}

}  // namespace

void run_eager(const Symbol& symbol, Arguments arguments, SourceLocation at, Results& results) {
  for (const Argument& argument : arguments) check_concrete(argument);
  run_call(symbol, arguments, at, results);
  if (OutsideWrites::is_recording()) [[unlikely]]
    OutsideWrites::note_made(arguments, results);
}

}  // namespace fulgurite
