#include "autograd/hooks/node_hooks.h"

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

namespace fulgurite {

namespace {

void check_replacement(const char* what, const Tensor& gradient, const Tensor& replacement) {
  if (!replacement.defined() || !gradient.defined()) return;
  if (same_sizes(replacement, gradient) && replacement.dtype() == gradient.dtype()) return;
  throw UserError(text::cat("a gradient hook ", what, "turned ", type_text(gradient), " into ", type_text(replacement),
                            "; it must keep sizes and dtype"));
}

void run_hooks(const std::vector<Hook>& hooks, Tensor& gradient) {
  if (!gradient.defined()) return;
  for (const Hook& hook : hooks) run_hook(hook, gradient);
}

void add_retained(Tensor& retained, const Tensor& gradient) {
  retained = retained.defined() ? add(retained, gradient) : gradient;
}

std::string place_text(const Node& node, const char* place) { return text::cat(place, " ", node.name(), " "); }

void replace(const Node& node, const char* place, std::vector<Tensor>& gradients, std::vector<Tensor> replacements) {
  if (replacements.size() != gradients.size())
    throw UserError(text::cat("a gradient hook ", place_text(node, place), "gave ", replacements.size(),
                              " gradients in place of ", gradients.size()));
  for (size_t i = 0; i < gradients.size(); ++i)
    check_replacement(place_text(node, place).c_str(), gradients[i], replacements[i]);
  gradients = std::move(replacements);
}

}  // namespace

void run_hook(const Hook& hook, Tensor& gradient) {
  const Tensor replaced = hook(gradient);
  if (!replaced.defined()) return;
  check_replacement("", gradient, replaced);
  gradient = replaced;
}

std::vector<Hook> hooks_of_output(const Node& node, size_t output) {
  if (const Tensor* const leaf = node.accumulates_into()) {
    const std::lock_guard lock(autograd_mutex(*leaf->impl()));
    return autograd_of(*leaf->impl()).hooks.snapshot();
  }
  Node::Hooks* const hooks = node.existing_hooks();
  return hooks ? hooks->outputs[output].hooks.snapshot() : std::vector<Hook>();
}

size_t count_retaining(const Node& node, size_t output) {
  Node::Hooks* const hooks = node.existing_hooks();
  return hooks ? hooks->outputs[output].retained.size() : 0;
}

void hand_to_retaining(const Node& node, size_t output, const Tensor& gradient) {
  Node::Hooks* const hooks = node.existing_hooks();
  if (!hooks || !gradient.defined()) return;
  for (const auto& retained : hooks->outputs[output].retained) add_retained(*retained, gradient);
}

void run_tensor_hooks(const Node& node, Node::Hooks* hooks, SmallVector<Tensor, 1>& gradients) {
  if (node.accumulates_into()) return run_hooks(hooks_of_output(node, 0), gradients[0]);
  if (!hooks) return;
  for (size_t i = 0; i < gradients.size(); ++i) {
    run_hooks(hooks->outputs[i].hooks.snapshot(), gradients[i]);
    hand_to_retaining(node, i, gradients[i]);
  }
}

std::vector<Tensor> run_before(const Node& node, std::vector<Tensor>& gradients) {
  Node::Hooks* const hooks = node.existing_hooks();
  if (!hooks) return {};
  for (const NodePrehook& hook : hooks->before.snapshot())
    if (auto replaced = hook(gradients)) replace(node, "before", gradients, std::move(*replaced));
  return hooks->after.empty() ? std::vector<Tensor>() : gradients;
}

void run_after(const Node& node, std::vector<Tensor>& of_inputs, const std::vector<Tensor>& of_outputs) {
  Node::Hooks* const hooks = node.existing_hooks();
  if (!hooks) return;
  for (const NodeHook& hook : hooks->after.snapshot())
    if (auto replaced = hook(of_inputs, of_outputs)) replace(node, "after", of_inputs, std::move(*replaced));
}

}  // namespace fulgurite
