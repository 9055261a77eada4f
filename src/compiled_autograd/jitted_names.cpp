#include "compiled_autograd/jitted_names.h"

#include <algorithm>

#include <fulgurite/symbol.h>

#include "ir/analysis/trace_values.h"
#include "support/text/text.h"

namespace fulgurite {

JittedNames::JittedNames(const BackwardGraph& graph) {
  std::vector<const TracedNode*> nodes;
  for (const NodeCall& one : graph.calls)
    if (const TracedNode* const node = one.node->as_traced(); node && node->jitted_backward()) nodes.push_back(node);
  std::ranges::sort(nodes, {}, [](const TracedNode* node) { return node->sequence_nr(); });
  std::map<const Trace*, int> uses;
  for (const TracedNode* node : nodes) {
    numbers_.try_emplace(node->jitted_backward(), static_cast<int>(numbers_.size()));
    uses_[node] = uses[node->jitted_backward()]++;
  }
}

void JittedNames::name(const TracedNode& node, std::span<BoundSymbol> ops) {
  const Trace* const backward = node.jitted_backward();
  if (backward == nullptr) return;
  std::string prefix = text::cat("aot", numbers_.at(backward), "_");
  if (const int use = uses_.at(&node); use > 0) prefix += text::cat(use, "_");
  // Ops are recorded one for one, except those that only unpack, delete and return, and those of sizes.
  const auto makes_tensors = [](const BoundSymbol& bound) {
    return !bound.symbol->traits.structural &&
           std::ranges::any_of(bound.outputs, [](const Value& output) { return output.is_tensor(); });
  };
  std::vector<const BoundSymbol*> originals, recorded;
  for (const BoundSymbol& bound : backward->bound_symbols)
    if (makes_tensors(bound)) originals.push_back(&bound);
  for (const BoundSymbol& bound : ops)
    if (makes_tensors(bound)) recorded.push_back(&bound);
  for (size_t i = 0; i < recorded.size(); ++i) {
    const bool is_that = originals.size() == recorded.size() && originals[i]->symbol == recorded[i]->symbol &&
                         originals[i]->outputs.size() == recorded[i]->outputs.size();
    for (size_t k = 0; k < recorded[i]->outputs.size(); ++k) {
      const Value& value = recorded[i]->outputs.read()[k];
      if (!value.is_tensor()) continue;
      const bool has_name = is_that && originals[i]->outputs.read()[k].is_tensor();
      value.tensor_ref()->name =
          prefix + (has_name ? originals[i]->outputs.read()[k].tensor().name : value.tensor().name);
    }
  }
}

}  // namespace fulgurite
