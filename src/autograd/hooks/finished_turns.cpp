#include "autograd/hooks/finished_turns.h"

#include "autograd/hooks/node_hooks.h"

namespace fulgurite {

void repeat_tensor_hooks(const Node& node, const FinishedTurn& turn, SmallVector<Tensor, 1>& gradients) {
  for (size_t output = 0; output < gradients.size(); ++output) {
    if (!gradients[output].defined()) continue;
    const auto found = turn.outputs.find(output);
    const bool was_called = found != turn.outputs.end();
    if (was_called && found->second.gradient.defined()) gradients[output] = found->second.gradient;
    for (const Hook& hook : was_called ? found->second.traceable : hooks_of_output(node, output))
      if (hook.recorded_as()) run_hook(hook, gradients[output]);
  }
}

}  // namespace fulgurite
