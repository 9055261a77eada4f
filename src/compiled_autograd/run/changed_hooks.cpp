// Hooks that change the hooks of later nodes while a captured backward runs.
#include <algorithm>

#include <fulgurite/error.h>

#include "autograd/engine/accumulate_grad.h"
#include "autograd/hooks/node_hooks.h"
#include "compiled_autograd/run/effects.h"
#include "support/context.h"

namespace fulgurite {

std::vector<size_t> CompiledRun::count_hooks() const {
  std::vector<size_t> counts;
  for (const NodeCall& call : graph_.calls)
    for (size_t output = 0; output < call.node->output_count(); ++output)
      counts.push_back(hooks_of_output(*call.node, output).size());
  return counts;
}

bool CompiledRun::has_op(BackwardEffect::Kind kind, size_t call, size_t output) const {
  return std::ranges::any_of(effects_, [&](const BackwardEffect& effect) {
    return effect.kind == kind && effect.call == static_cast<int>(call) && effect.output == output;
  });
}

// Returns true if a list of node hooks, or of a leaf's, has hooks and the program has no op that calls them.
bool CompiledRun::misses_node_hooks(size_t call) const {
  const Node& node = *graph_.calls[call].node;
  Node::Hooks* const hooks = node.existing_hooks();
  const Tensor* const leaf = node.accumulates_into();
  return (hooks && !hooks->before.empty() && !has_op(BackwardEffect::Kind::before_node, call, 0)) ||
         (hooks && !hooks->after.empty() && !has_op(BackwardEffect::Kind::after_node, call, 0)) ||
         (leaf && !post_accumulate_hooks(*leaf).empty() &&
          !has_op(BackwardEffect::Kind::post_accumulate_hook, call, 0));
}

// A gradient that was captured without hooks, or with traceable ones alone, has no op that calls one.
void CompiledRun::check_changed_hooks(int first_call) {
  const uint64_t changes = context().hook_changes.load(std::memory_order_relaxed);
  if (changes == hook_changes_) return;
  hook_changes_ = changes;
  const std::vector<size_t> counts = count_hooks();
  size_t position = 0;  // of a call's first output among them
  for (size_t i = 0; i < graph_.calls.size() && !leaves_; ++i) {
    const Node& node = *graph_.calls[i].node;
    const bool is_later = i >= static_cast<size_t>(first_call);
    if (is_later && misses_node_hooks(i)) leave("added a hook to", i);
    for (size_t output = 0; output < node.output_count(); ++output, ++position) {
      if (!is_later || counts[position] == hooks_at_start_[position] ||
          has_op(BackwardEffect::Kind::tensor_hook, i, output))
        continue;
      leave(counts[position] > hooks_at_start_[position] ? "added a hook to" : "took a traceable hook away from", i);
    }
  }
}

void CompiledRun::leave(const char* change, size_t call) {
  const Node& node = *graph_.calls[call].node;
  leaves_ = LeftCapture{text::cat("a hook ", change, " ", node.name(), " (NodeCall ", call + 1,
                                  "), which has not run yet and was captured without that change"),
                        node.source()};
}

void CompiledRun::log_tensor_hooks(const BackwardEffect& effect, const Tensor& gradient, bool is_changed) {
  const bool has_traceable = std::ranges::any_of(tensor_hooks_, [](const Hook& hook) { return !!hook.recorded_as(); });
  if (!is_changed && !has_traceable) return;
  FinishedTurn& turn = finished_.of[graph_.calls[static_cast<size_t>(effect.call)].node];
  FinishedTurn::Hooked& hooked = turn.outputs[effect.output];
  if (is_changed || hooked.gradient.defined()) hooked.gradient = gradient;
  const size_t first = hooked.gradient.defined() ? effect.hook + 1 : 0;
  hooked.traceable.clear();
  for (size_t i = first; i < tensor_hooks_.size(); ++i)
    if (tensor_hooks_[i].recorded_as()) hooked.traceable.push_back(tensor_hooks_[i]);
}

FinishedTurns CompiledRun::finished_turns() && {
  for (int i = 0; i <= turn_; ++i) finished_.of.try_emplace(graph_.calls[static_cast<size_t>(i)].node);
  return std::move(finished_);
}

}  // namespace fulgurite
