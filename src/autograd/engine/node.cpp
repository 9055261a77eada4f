#include <fulgurite/node.h>

#include <algorithm>

#include "autograd/engine/tensor_autograd.h"
#include "support/thread_state.h"

namespace fulgurite {

Node::Node() : sequence_nr_(thread_state.next_sequence_nr++) {}

// A graph may be a chain of any length, so nodes are freed iteratively: recursion could overflow the stack.
Node::~Node() {
  delete hooks_.load(std::memory_order_relaxed);
  std::vector<std::shared_ptr<Node>> pending;
  give_edges_to(pending);
  while (!pending.empty()) {
    const std::shared_ptr<Node> node = std::move(pending.back());
    pending.pop_back();
    if (node.use_count() == 1) node->give_edges_to(pending);
  }
}

void Node::give_edges_to(std::vector<std::shared_ptr<Node>>& pending) {
  for (Edge& edge : edges_)
    if (edge.node) pending.push_back(std::move(edge.node));
  edges_.clear();
}

void Node::add_edge(Edge edge) {
  if (edge.node) topological_nr_ = std::max(topological_nr_, edge.node->topological_nr_ + 1);
  add_to_hash(edge.node ? edge.node->structure_hash_ + static_cast<uint64_t>(edge.output) : 1);
  edges_.push_back(std::move(edge));
}

Node::Hooks& Node::hooks() {
  if (Hooks* const present = existing_hooks()) return *present;
  auto made = std::make_unique<Hooks>();
  made->outputs = std::vector<Hooks::ForOutput>(output_count());
  Hooks* first = nullptr;  // another thread may have been first
  if (hooks_.compare_exchange_strong(first, made.get(), std::memory_order_acq_rel)) return *made.release();
  return *first;
}

HookHandle Node::register_prehook(NodePrehook hook) { return hooks().before.add(std::move(hook)); }
HookHandle Node::register_hook(NodeHook hook) { return hooks().after.add(std::move(hook)); }

}  // namespace fulgurite
