// checkpoint() with use_reentrant: a custom function whose backward runs a nested backward.
#include <algorithm>

#include <fulgurite/autograd_function.h>
#include <fulgurite/error.h>
#include <fulgurite/function_transforms.h>

#include "autograd/checkpoint/outside_writes.h"
#include "autograd/engine/backward_run.h"
#include "autograd/engine/tensor_autograd.h"
#include "ops/core/autocast.h"
#include "ops/core/dispatch.h"
#include "support/context.h"
#include "support/log.h"

namespace fulgurite::detail {

namespace {

using Run = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

/// The state that backward needs besides the inputs, which the custom function saves.
struct FirstRun {
  Run run;
  SourceLocation at;
  std::vector<char> requires_grad;  // by input
  std::optional<Dtype> autocast = autocast_dtype();
  RngStates draws;
  OutsideWrites writes;
};

/// Returns the inputs' gradients; those of leaves that the function captured are accumulated by the inner backward.
std::vector<Tensor> run_backward_again(const FirstRun& first, const std::vector<Tensor>& saved,
                                       const std::vector<Tensor>& gradients) {
  if (const BackwardRun* outer = BackwardRun::innermost(); outer != nullptr && outer->asks_for_inputs())
    throw UserError(
        "checkpoint: with use_reentrant a backward that is asked for certain gradients only (autograd::grad, or "
        "backward() with inputs) is not possible; leave use_reentrant out, or call backward() without inputs",
        first.at);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < saved.size(); ++i) {
    inputs.push_back(saved[i].defined() ? without_history(saved[i]) : Tensor());
    if (first.requires_grad[i]) inputs.back().requires_grad_();
  }
  std::vector<Tensor> results;
  {
    RngStates replayed{.states = first.draws.states, .replays = true};
    const RngScope draws(replayed);
    const OutsideWrites::Repetition writes(first.writes);
    const InterpreterScope eager(nullptr);
    const AutocastScope autocast(first.autocast);
    const GradModeScope records(true);
    results = first.run(inputs);
  }
  if (results.size() != gradients.size())
    throw UserError(text::cat("checkpoint: the function gave ", gradients.size(), " tensors in the first run and ",
                              results.size(), " in the second; it must do the same each time it runs"),
                    first.at);
  std::vector<Tensor> roots, of_roots;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].requires_grad() || !gradients[i].defined()) continue;
    roots.push_back(results[i]);
    of_roots.push_back(gradients[i]);
  }
  if (roots.empty())
    throw UserError(
        "checkpoint: no result of the function requires grad when it runs again: this checkpoint is not necessary",
        first.at);
  autograd::backward(roots, of_roots, {}, first.at);
  std::vector<Tensor> found;
  for (const Tensor& input : inputs) found.push_back(input.defined() ? input.grad() : Tensor());
  return found;
}

}  // namespace

std::vector<Tensor> run_reentrant_checkpoint(const std::vector<Tensor>& inputs, const Run& first_run, Run run,
                                             SourceLocation at) {
  const auto first = std::make_shared<FirstRun>();
  for (const Tensor& input : inputs) first->requires_grad.push_back(input.defined() && input.requires_grad());
  if (std::ranges::none_of(first->requires_grad, [](char requires_it) { return requires_it != 0; }))
    warn(
        "checkpoint: no argument requires grad: with use_reentrant no gradient goes through this call, not even to "
        "captured leaves");
  first->run = std::move(run);
  first->at = at;
  CustomFunction function;
  function.name = "Checkpoint";
  function.once_differentiable = true;
  function.backward = [first](autograd::Context& context, const std::vector<Tensor>& gradients) {
    return run_backward_again(*first, context.saved_tensors(), gradients);
  };
  CustomCall call(std::move(function), inputs, at);
  return call.run([&](autograd::Context& context, const std::vector<Tensor>& given) {
    context.save_for_backward(given);
    context.set_materialize_grads(false);
    const RngScope draws(first->draws);
    const OutsideWrites::Recording writes(first->writes);
    return first_run(given);
  });
}

}  // namespace fulgurite::detail
