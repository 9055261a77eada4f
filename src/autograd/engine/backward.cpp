// backward() and grad(): checks arguments and calls the engine.
#include <memory>

#include <fulgurite/autograd.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "autograd/engine/accumulate_grad.h"
#include "autograd/engine/engine.h"
#include "ops/core/dispatch.h"
#include "support/context.h"
#include "support/log.h"

namespace fulgurite {

namespace {

// A leaf holds its gradient, whose history holds the leaf: a reference cycle.
void warn_of_cycle() {
  if (context().has_warned_of_cycles.exchange(true)) return;
  warn(
      "backward() with create_graph leaves a gradient with a history in each leaf, and the history holds the leaf: "
      "neither is freed until set_grad({}) takes the gradient away; autograd::grad() gives such gradients without "
      "that");
}

// Inside a recording, the ops recorded so far must have run before the engine does; it runs outside the recording.
std::unique_ptr<InterpreterScope> leave_recording(const char* what, const std::vector<Tensor>& outputs,
                                                  SourceLocation at) {
  Interpreter* interpreter = innermost_interpreter();
  if (!interpreter) return nullptr;
  if (outputs.empty() || !outputs[0].defined()) throw UserError(text::cat(what, ": there is no tensor"), at);
  interpreter->leave_for_backward(outputs[0], what, at);
  return std::make_unique<InterpreterScope>(nullptr);
}

// The initial gradients of backward, checked against the outputs.
BackwardCall start(const char* what, const std::vector<Tensor>& outputs, const std::vector<Tensor>& gradients,
                   SourceLocation at) {
  if (!gradients.empty() && gradients.size() != outputs.size())
    throw UserError(text::cat(what, ": got ", outputs.size(), " tensors and ", gradients.size(), " gradients"), at);
  BackwardCall call;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& output = outputs[i];
    if (!output.defined()) throw UserError(text::cat(what, ": tensor ", i, " is undefined"), at);
    bring_history_up_to_date(output);
    Edge root = gradient_edge(output);
    if (!root.node)
      throw UserError(
          text::cat(what, ": tensor ", i, ", ", type_text(output),
                    ", does not require grad and was not made from one that does; call requires_grad_() on what the "
                    "gradient is wanted of"),
          at);
    Tensor gradient = gradients.empty() ? Tensor() : gradients[i];
    if (!gradient.defined()) {
      if (output.impl()->numel() != 1)
        throw UserError(text::cat(what, ": a gradient can be made implicitly only for a scalar, this is ",
                                  type_text(output), "; reduce it, with sum() or mean(), or give the gradient"),
                        at);
      gradient = ones_like(output);
    } else if (!same_sizes(gradient, output) || gradient.dtype() != output.dtype()) {
      throw UserError(text::cat(what, ": the gradient is ", type_text(gradient), ", the tensor ", type_text(output)),
                      at);
    }
    call.roots.push_back(std::move(root));
    call.gradients.push_back(std::move(gradient));
  }
  return call;
}

void check_input(const char* what, const Tensor& input, size_t index, SourceLocation at) {
  if (!input.defined()) throw UserError(text::cat(what, ": input ", index, " is undefined"), at);
  bring_history_up_to_date(input);
  if (!input.requires_grad())
    throw UserError(text::cat(what, ": input ", index, ", ", type_text(input), ", does not require grad"), at);
}

}  // namespace

namespace autograd {

void backward(const TensorList& outputs, const TensorList& gradients, const BackwardOptions& options,
              SourceLocation at) {
  const auto outside = leave_recording("backward()", outputs.tensors(), at);
  BackwardCall call = start("backward()", outputs.tensors(), gradients.tensors(), at);
  call.create_graph = options.create_graph;
  if (call.create_graph) warn_of_cycle();
  call.keep_graph = options.retain_graph.value_or(options.create_graph);
  for (size_t i = 0; i < options.inputs.size(); ++i) {
    const Tensor& input = options.inputs[i];
    check_input("backward()", input, i, at);
    call.inputs.push_back(gradient_edge(input));
    call.captures.push_back(node_of(input) != nullptr);
  }
  const std::vector<char> captures = call.captures;
  std::vector<Tensor> captured = run_backward(std::move(call));
  for (size_t i = 0; i < captured.size(); ++i)
    if (captures[i] && captured[i].defined())
      accumulate_gradient(options.inputs[i], std::move(captured[i]), options.create_graph);
}

std::vector<Tensor> grad(const TensorList& outputs, const TensorList& inputs, const TensorList& gradients,
                         const GradOptions& options, SourceLocation at) {
  const auto outside = leave_recording("grad()", outputs.tensors(), at);
  BackwardCall call = start("grad()", outputs.tensors(), gradients.tensors(), at);
  if (inputs.tensors().empty()) throw UserError("grad(): no inputs were given", at);
  call.create_graph = options.create_graph;
  call.keep_graph = options.retain_graph.value_or(options.create_graph);
  for (size_t i = 0; i < inputs.tensors().size(); ++i) {
    check_input("grad()", inputs.tensors()[i], i, at);
    call.inputs.push_back(gradient_edge(inputs.tensors()[i]));
    call.captures.push_back(true);
  }
  std::vector<Tensor> found = run_backward(std::move(call));
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].defined()) continue;
    const Tensor& input = inputs.tensors()[i];
    if (options.materialize_grads) found[i] = make_zeros({input.shape(), input.dtype(), input.device()});
    else if (!options.allow_unused)
      throw UserError(
          text::cat(
              "grad(): the outputs do not depend on input ", i, ", ", type_text(input),
              "; give {.allow_unused = true} to get an undefined gradient, or {.materialize_grads = true} for zeros"),
          at);
  }
  return found;
}

}  // namespace autograd
}  // namespace fulgurite
