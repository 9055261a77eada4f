#pragma once
#include <queue>
#include <unordered_map>

#include "autograd/engine/engine.h"
#include "support/containers/small_vector.h"

namespace fulgurite {

/// One run of backward over a graph: what is known of each node that the roots lead to.
///
/// A node remembers the run that has it and its place there, which is one comparison to find; where two runs have a node at the same time
/// (of two threads, or of a hook that runs backward itself) the later one finds it in a table.
class BackwardRun {
 public:
  explicit BackwardRun(BackwardCall call);
  ~BackwardRun();
  BackwardRun(const BackwardRun&) = delete;
  BackwardRun& operator=(const BackwardRun&) = delete;

  /// Runs the nodes, the latest made first; gives the captured gradients.
  std::vector<Tensor> run();
  /// What was queued for the end, in order; callbacks may queue more.
  void run_callbacks();

  void queue_callback(std::function<void()> callback) { callbacks_.push_back(std::move(callback)); }
  /// Whether this run, or one that it runs inside of, is asked for certain gradients only.
  bool asks_for_inputs() const { return !call_.inputs.empty() || (outer_ != nullptr && outer_->asks_for_inputs()); }
  void at_end(std::function<void()> action) { end_actions_.push_back(std::move(action)); }
  /// The innermost run on this thread; null outside of backward.
  static BackwardRun* innermost();

 private:
  struct Task {
    Node* node;
    SmallVector<Tensor, 1> gradients;  // of the node's outputs, summed as they arrive
    int dependencies = 0;              // edges into the node that have not delivered yet
    bool is_needed = true;             // leads to an input, or there are none
    bool is_queued = false;
    bool is_claimed = false;           // the node knows its place
    int first_capture = -1;            // in captures_
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

  /// The node's place, or -1 where the run does not have it.
  int64_t find(const Node&) const;
  uint32_t find_or_add(Node&);
  void count_dependencies();
  void find_needed();
  /// Whether the gradient that goes along an edge is wanted.
  bool leads_to_input(const Edge&) const;
  uint64_t needed_gradients(const Node&) const;
  void deliver(const Edge&, Tensor gradient);
  void make_ready(uint32_t position);
  void run_node(Task task);
  std::vector<Tensor> execute(Node&, Task&);
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
