#pragma once
#include <queue>
#include <unordered_map>

#include "autograd/engine/engine.h"
#include "support/containers/small_vector.h"

namespace fulgurite {

struct FinishedTurn;

/// One run of backward over a graph: the state of each node reachable from the roots.
///
/// A node caches the run that has claimed it and its position there, found by one comparison; if two runs share a node
/// (two threads, or a hook that runs backward itself), the later one finds it in a table.
class BackwardRun {
 public:
  explicit BackwardRun(BackwardCall call);
  ~BackwardRun();
  BackwardRun(const BackwardRun&) = delete;
  BackwardRun& operator=(const BackwardRun&) = delete;

  /// Runs the nodes, the latest made first; returns the captured gradients.
  std::vector<Tensor> run();
  /// Runs the callbacks queued for the end, in order; callbacks may queue more.
  void run_callbacks();

  std::vector<std::function<void()>> take_callbacks() { return std::move(callbacks_); }
  void queue_callback(std::function<void()> callback) { callbacks_.push_back(std::move(callback)); }
  /// Returns true if this run or an enclosing one computes only the gradients of given inputs.
  bool asks_for_inputs() const { return !call_.inputs.empty() || (outer_ != nullptr && outer_->asks_for_inputs()); }
  void at_end(std::function<void()> action) { end_actions_.push_back(std::move(action)); }
  /// The innermost run on this thread; null outside of backward.
  static BackwardRun* innermost();

 private:
  struct Task {
    Node* node;
    SmallVector<Tensor, 1> gradients;  // of the node's outputs, summed as they arrive
    int dependencies = 0;              // incoming edges that have not delivered yet
    bool is_needed = true;             // leads to an input, or there are none
    bool is_queued = false;
    bool is_claimed = false;  // the node caches its position
    int first_capture = -1;   // in captures_
  };
  struct Capture {
    int output;
    size_t input;
    int next;  // of the same node
  };
  struct Ready {
    uint64_t sequence_nr;
    uint32_t position;
    bool operator<(const Ready& other) const { return sequence_nr < other.sequence_nr; }
  };

  /// The node's position, or -1 if the run does not have it.
  int64_t find(const Node&) const;
  uint32_t find_or_add(Node&);
  void count_dependencies();
  void find_needed();
  /// Returns true if the gradient along an edge is needed.
  bool leads_to_input(const Edge&) const;
  uint64_t needed_gradients(const Node&) const;
  void deliver(const Edge&, Tensor gradient);
  void make_ready(uint32_t position);
  void run_node(Task task);
  std::vector<Tensor> execute(Node&, Task&, const FinishedTurn*);
  bool is_reached(const Edge& edge) const { return edge.node && edge.node->topological_nr() >= min_topological_nr_; }

  BackwardCall call_;
  std::vector<Tensor> captured_;
  std::vector<Task> tasks_;
  std::vector<Capture> captures_;
  std::unordered_map<const Node*, uint32_t> held_by_others_;
  std::priority_queue<Ready> ready_;
  uint64_t min_topological_nr_ = 0;  // nodes closer to the leaves than any input lead to none
  std::vector<std::function<void()>> callbacks_, end_actions_;
  BackwardRun* outer_;
};

}  // namespace fulgurite
