#include <fulgurite/autograd.h>

#include "autograd/tensor_autograd.h"

namespace fulgurite {

namespace {
thread_local uint64_t next_sequence_nr = 0;
}

Node::Node() : sequence_nr_(next_sequence_nr++) {}

// A graph may be a chain of any length, so nodes are freed one after another and not each inside the one before.
Node::~Node() {
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

Node::OutputHooks& Node::output_hooks() {
  if (!output_hooks_) {
    output_hooks_ = std::make_shared<OutputHooks>();
    output_hooks_->outputs.resize(output_count());
  }
  return *output_hooks_;
}

}  // namespace fulgurite
