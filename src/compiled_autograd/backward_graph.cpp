#include "compiled_autograd/backward_graph.h"

#include <algorithm>

#include "support/containers/pointer_map.h"

namespace fulgurite {

namespace {

/// Finds the nodes and orders them topologically, the latest made first.
class Walk {
 public:
  explicit Walk(const BackwardCall& call) : call_(call) {
    if (!call.inputs.empty()) {
      min_topological_nr_ = ~uint64_t{0};
      for (const Edge& input : call.inputs)
        min_topological_nr_ = std::min(min_topological_nr_, input.node->topological_nr());
    }
    for (const Edge& root : call.roots) find_or_add(*root.node);
    // Nodes are appended as they are found, so that the list is its own queue.
    for (size_t at = 0; at < found_.size(); ++at) {
      found_[at].first_edge = edges_.size();
      for (const Edge& edge : found_[at].node->next_edges()) {
        const int position = is_reached(edge) ? static_cast<int>(find_or_add(*edge.node)) : -1;
        if (position >= 0) ++found_[static_cast<size_t>(position)].waits_for;
        edges_.push_back(position);
      }
    }
    put_in_order();
  }

  size_t size() const { return order_.size(); }
  Node& node(size_t turn) const { return *found_[order_[turn]].node; }
  /// The turn of the node that an edge leads to; -1 if the backward does not reach it.
  int next(size_t turn, size_t edge) const {
    const int position = edges_[found_[order_[turn]].first_edge + edge];
    return position < 0 ? -1 : found_[static_cast<size_t>(position)].turn;
  }
  int turn_of(const Node& node) const {
    const int64_t position = positions_.find(&node);
    return position < 0 ? -1 : found_[static_cast<size_t>(position)].turn;
  }

 private:
  struct Found {
    Node* node;
    int waits_for = 0;
    int turn = -1;
    bool is_queued = false;
    size_t first_edge = 0;  // in edges_
  };
  struct Ready {
    uint64_t sequence_nr;
    size_t position;
    bool operator<(const Ready& other) const { return sequence_nr < other.sequence_nr; }
  };

  bool is_reached(const Edge& edge) const { return edge.node && edge.node->topological_nr() >= min_topological_nr_; }

  uint32_t find_or_add(Node& node) {
    const auto [position, is_new] = positions_.try_emplace(&node, static_cast<uint32_t>(found_.size()));
    if (is_new) found_.push_back({.node = &node});
    return position;
  }

  void make_ready(size_t position) {
    Found& one = found_[position];
    if (one.waits_for != 0 || one.is_queued) return;
    one.is_queued = true;
    ready_.push_back({one.node->sequence_nr(), position});
    std::push_heap(ready_.begin(), ready_.end());
  }

  void put_in_order() {
    for (const Edge& root : call_.roots) make_ready(static_cast<size_t>(positions_.find(root.node.get())));
    while (!ready_.empty()) {
      std::pop_heap(ready_.begin(), ready_.end());
      const size_t position = ready_.back().position;
      ready_.pop_back();
      found_[position].turn = static_cast<int>(order_.size());
      order_.push_back(position);
      const size_t count = found_[position].node->next_edges().size();
      const bool last_first = found_[position].node->reverse_edges();
      for (size_t k = 0; k < count; ++k) {
        const int next = edges_[found_[position].first_edge + (last_first ? count - 1 - k : k)];
        if (next < 0) continue;
        --found_[static_cast<size_t>(next)].waits_for;
        make_ready(static_cast<size_t>(next));
      }
    }
  }

  const BackwardCall& call_;
  uint64_t min_topological_nr_ = 0;  // nodes closer to the leaves than any input lead to none
  // Inline storage: a small backward takes little longer than an allocation.
  SmallVector<Found, 48> found_;
  SmallVector<int, 96> edges_;  // of all nodes, in the order found: the target of each edge; -1: not reached
  PointerMap positions_;
  SmallVector<Ready, 16> ready_;   // a heap
  SmallVector<size_t, 48> order_;  // positions by turn
};

}  // namespace

BackwardGraph::BackwardGraph(const BackwardCall& call) {
  const Walk walk(call);
  calls.reserve(walk.size());
  for (size_t turn = 0; turn < walk.size(); ++turn) {
    NodeCall& one = calls.emplace_back();
    one.node = &walk.node(turn);
    one.leaf = one.node->accumulates_into();
    if (one.leaf == nullptr) one.traced = one.node->as_traced();
    const std::vector<Edge>& edges = one.node->next_edges();
    for (size_t i = 0; i < edges.size(); ++i) one.targets.push_back({walk.next(turn, i), edges[i].output});
  }
  for (const Edge& root : call.roots) roots.push_back({walk.turn_of(*root.node), root.output});
  if (call.inputs.empty()) return;
  for (NodeCall& one : calls) one.is_needed = false;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const int turn = walk.turn_of(*call.inputs[i].node);
    if (turn < 0) continue;
    NodeCall& one = calls[static_cast<size_t>(turn)];
    if (call.captures[i]) one.asked.push_back({call.inputs[i].output, i});
    else one.is_needed = true;
  }
  // A node precedes all nodes that its gradients go to.
  for (size_t turn = calls.size(); turn-- > 0;) {
    NodeCall& one = calls[turn];
    one.needed = 0;
    for (size_t i = 0; i < one.targets.size(); ++i) {
      if (one.targets[i].call < 0) continue;
      const NodeCall& target = calls[static_cast<size_t>(one.targets[i].call)];
      const bool is_wanted = target.is_needed || !target.asked.empty();
      if (!is_wanted) one.targets[i].call = -1;
      else if (i < 64) one.needed |= uint64_t{1} << i;
      one.is_needed = one.is_needed || is_wanted;
    }
  }
}

}  // namespace fulgurite
