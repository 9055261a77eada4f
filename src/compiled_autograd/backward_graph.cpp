#include "compiled_autograd/backward_graph.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

namespace fulgurite {

namespace {

/// The nodes in the order found, and in that in which nothing waits for them any more, the latest made first.
class Walk {
 public:
  explicit Walk(const BackwardCall& call) : call_(call) {
    if (!call.inputs.empty()) {
      least_topological_nr_ = ~uint64_t{0};
      for (const Edge& input : call.inputs) least_topological_nr_ = std::min(least_topological_nr_, input.node->topological_nr());
    }
    for (const Edge& root : call.roots) find_or_add(*root.node);
    // Nodes are appended as they are found, so that the list is its own queue.
    for (size_t at = 0; at < nodes_.size(); ++at)
      for (const Edge& edge : nodes_[at]->next_edges())
        if (is_reached(edge)) {
          const size_t place = find_or_add(*edge.node);
          ++waits_for_[place];
        }
    put_in_order();
  }

  size_t size() const { return order_.size(); }
  Node& node(size_t turn) const { return *nodes_[order_[turn]]; }
  /// Its turn; -1 where the backward does not reach it.
  int turn_of(const Edge& edge) const { return is_reached(edge) ? turn_of(*edge.node) : -1; }
  int turn_of(const Node& node) const {
    const auto found = places_.find(&node);
    return found == places_.end() ? -1 : turns_[found->second];
  }

 private:
  bool is_reached(const Edge& edge) const { return edge.node && edge.node->topological_nr() >= least_topological_nr_; }

  size_t find_or_add(Node& node) {
    const auto [at, is_new] = places_.try_emplace(&node, nodes_.size());
    if (is_new) {
      nodes_.push_back(&node);
      waits_for_.push_back(0);
    }
    return at->second;
  }

  void put_in_order() {
    struct Ready {
      uint64_t sequence_nr;
      size_t place;
      bool operator<(const Ready& other) const { return sequence_nr < other.sequence_nr; }
    };
    std::priority_queue<Ready> ready;
    std::vector<char> is_queued(nodes_.size());
    turns_.assign(nodes_.size(), -1);
    const auto make_ready = [&](size_t place) {
      if (waits_for_[place] != 0 || is_queued[place]) return;
      is_queued[place] = true;
      ready.push({nodes_[place]->sequence_nr(), place});
    };
    for (const Edge& root : call_.roots) make_ready(places_.at(root.node.get()));
    while (!ready.empty()) {
      const size_t place = ready.top().place;
      ready.pop();
      turns_[place] = static_cast<int>(order_.size());
      order_.push_back(place);
      const std::vector<Edge>& edges = nodes_[place]->next_edges();
      const bool last_first = nodes_[place]->gives_last_first();
      for (size_t k = 0; k < edges.size(); ++k) {
        const Edge& edge = edges[last_first ? edges.size() - 1 - k : k];
        if (!is_reached(edge)) continue;
        const size_t next = places_.at(edge.node.get());
        --waits_for_[next];
        make_ready(next);
      }
    }
  }

  const BackwardCall& call_;
  uint64_t least_topological_nr_ = 0;  // nodes closer to the leaves than any input lead to none
  std::vector<Node*> nodes_;
  std::vector<int> waits_for_;
  std::unordered_map<const Node*, size_t> places_;
  std::vector<size_t> order_;  // places by turn
  std::vector<int> turns_;     // turns by place
};

}  // namespace

BackwardGraph::BackwardGraph(const BackwardCall& call) {
  const Walk walk(call);
  calls.resize(walk.size());
  for (size_t turn = 0; turn < walk.size(); ++turn) {
    NodeCall& one = calls[turn];
    one.node = &walk.node(turn);
    for (const Edge& edge : one.node->next_edges()) one.targets.push_back({walk.turn_of(edge), edge.output});
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
  // A node comes before all that its gradients go to.
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
