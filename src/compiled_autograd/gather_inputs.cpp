#include "autograd/compiled/traced_node.h"
#include "autograd/engine/tensor_autograd.h"
#include "autograd/functions/function_node.h"
#include "compiled_autograd/capture.h"
#include "support/text/text.h"
#include "tensor/same_memory.h"

namespace fulgurite {

std::vector<Tensor> gather_inputs(const BackwardCall& call, BackwardGraph& graph) {
  std::vector<Tensor> inputs;
  inputs.reserve(2 * graph.calls.size() + call.gradients.size());
  inputs.assign(call.gradients.begin(), call.gradients.end());
  for (NodeCall& one : graph.calls) {
    const size_t before = inputs.size();
    if (one.traced != nullptr && one.is_needed) one.traced->append_saved(inputs, call.create_graph);
    one.saved = inputs.size() - before;
  }
  return inputs;
}

bool is_same_input(const BackwardCall& call, const Tensor& a, const Tensor& b) {
  if (!is_same_memory(a, b)) return false;
  if (!call.create_graph) return true;
  const Edge first = gradient_edge(a), second = gradient_edge(b);
  return first.node == second.node && first.output == second.output;
}

std::string why_not_captured(const BackwardGraph& graph) {
  for (const NodeCall& one : graph.calls) {
    const bool is_known = one.leaf || one.traced || one.node->as_function();
    if (!is_known) return text::cat(one.node->name(), " is not captured yet");
  }
  return {};
}

}  // namespace fulgurite
