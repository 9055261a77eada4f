// Calls of custom functions: autograd::apply, and the ops of traces that stand for such calls.
#include <algorithm>
#include <unordered_map>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "autograd/functions/function_node.h"
#include "ops/core/dispatch.h"
#include "tracing/custom_function.h"
#include "tracing/evaluate.h"

namespace fulgurite {

namespace detail {

CustomCall::CustomCall(CustomFunction function, std::vector<Tensor> inputs, SourceLocation at)
    : function_(std::move(function)), inputs_(std::move(inputs)), at_(at) {}
CustomCall::~CustomCall() = default;

std::vector<Tensor> CustomCall::run(const Forward& forward) {
  const std::string name(function_.name);
  try {
    const Interpreter* const interpreter = innermost_interpreter();
    if (interpreter && !interpreter->computes())
      return record_custom_function(std::move(function_), inputs_, forward, at_);
    for (const Tensor& input : inputs_)
      if (input.defined()) bring_history_up_to_date(input);
    const auto node = std::make_shared<FunctionNode>(std::move(function_), inputs_, at_);
    std::vector<Tensor> results;
    {
      const GradModeScope no_grad(false);
      results = forward(node->context, inputs_);
    }
    node->finish(inputs_, results);
    return results;
  } catch (const RuleError& error) {
    throw UserError(text::cat(name, ": ", error.message), at_);
  }
}

}  // namespace detail

std::vector<Tensor> call_custom_function(const BoundSymbol& custom, std::span<const Tensor> arguments) {
  const Trace forward = forward_trace(custom);
  const auto backward = std::make_shared<const CustomBackward>(backward_trace(custom));
  // Its arguments are those that it has gradients for; all other captured values are constants.
  std::vector<Tensor> inputs;
  std::vector<size_t> positions;          // of the inputs among the arguments
  std::unordered_map<int, size_t> by_id;  // arguments, then results
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Value& value = forward.args[i];
    by_id.emplace(value.proxy_id(), i);
    if (std::ranges::find(backward->targets, value) == backward->targets.end()) continue;
    positions.push_back(i);
    inputs.push_back(arguments[i]);
  }
  for (size_t i = 0; i < custom.outputs.size(); ++i) by_id.emplace(custom.outputs[i].proxy_id(), arguments.size() + i);

  detail::CustomFunction function;
  function.name = custom.symbol->name();  // which lives until the process ends
  function.once_differentiable = backward->once_differentiable;
  function.backward = [backward, forward_args = forward.args, positions](autograd::Context& context,
                                                                         const std::vector<Tensor>& gradients) {
    std::vector<Tensor> given = context.saved_tensors();
    for (const int result : backward->cotangents) given.push_back(gradients[static_cast<size_t>(result)]);
    const std::vector<Tensor> found = evaluate(backward->trace, given);
    std::vector<Tensor> out(positions.size());
    for (size_t i = 0; i < found.size(); ++i)
      for (size_t input = 0; input < positions.size(); ++input) {
        if (!(forward_args[positions[input]] == backward->targets[i])) continue;
        out[input] = out[input].defined() ? add(out[input], found[i]) : found[i];
      }
    return out;
  };
  detail::CustomCall call(std::move(function), inputs, custom.source);
  return call.run([&](autograd::Context& context, const std::vector<Tensor>& given) {
    std::vector<Tensor> all(arguments.begin(), arguments.end());
    for (size_t i = 0; i < positions.size(); ++i) all[positions[i]] = given[i];
    std::vector<Tensor> results = evaluate(forward, all);
    all.insert(all.end(), results.begin(), results.end());
    std::vector<Tensor> saved, constants;
    for (const Value& value : backward->saved) saved.push_back(all[by_id.at(value.proxy_id())]);
    for (size_t i = 0; i < results.size(); ++i)
      if (!custom.outputs[i].tensor().requires_grad) constants.push_back(results[i]);
    context.save_for_backward(saved);
    context.mark_non_differentiable(constants);
    return results;
  });
}

}  // namespace fulgurite
