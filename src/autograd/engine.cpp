#include "autograd/engine.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "autograd/accumulate_grad.h"
#include "ops/dispatch.h"

namespace fulgurite {

namespace {

struct Task {
  std::vector<Tensor> gradients;                 // of the node's outputs, summed as they arrive
  int dependencies = 0;                          // edges into the node that have not delivered yet
  bool is_needed = true;                         // leads to an input, or there are none
  std::vector<std::pair<int, size_t>> captures;  // output, place among the inputs
};

/// What is to be done when the backward that runs on this thread ends.
class EndActions {
 public:
  EndActions() : outer_(innermost) { innermost = this; }
  ~EndActions() {
    innermost = outer_;
    for (const auto& action : actions_) action();
  }
  EndActions(const EndActions&) = delete;
  EndActions& operator=(const EndActions&) = delete;
  void add(std::function<void()> action) { actions_.push_back(std::move(action)); }

  static thread_local EndActions* innermost;

 private:
  std::vector<std::function<void()>> actions_;
  EndActions* outer_;
};
thread_local EndActions* EndActions::innermost = nullptr;

class Engine {
 public:
  explicit Engine(BackwardCall call) : call_(std::move(call)), captured_(call_.inputs.size()) {}

  std::vector<Tensor> run() {
    const InterpreterScope eager(nullptr);
    const GradModeScope grad_mode(call_.create_graph);
    count_dependencies();
    if (!call_.inputs.empty()) find_needed();
    for (size_t i = 0; i < call_.roots.size(); ++i) deliver(call_.roots[i], std::move(call_.gradients[i]));
    for (const Edge& root : call_.roots) make_ready(root.node);
    while (!ready_.empty()) {
      const std::shared_ptr<Node> node = ready_.top().node;
      ready_.pop();
      run_node(*node);
    }
    return std::move(captured_);
  }

 private:
  void count_dependencies() {
    std::vector<Node*> pending;
    const auto reach = [&](Node* node) {
      const auto [at, is_new] = tasks_.try_emplace(node);
      if (is_new) {
        at->second.gradients.resize(node->output_count());
        order_.push_back(node);
        pending.push_back(node);
      }
      return at;
    };
    for (const Edge& root : call_.roots) reach(root.node.get());
    while (!pending.empty()) {
      Node* node = pending.back();
      pending.pop_back();
      for (const Edge& edge : node->next_edges())
        if (edge.node) ++reach(edge.node.get())->second.dependencies;
    }
  }

  // A node is needed when an edge of it leads to an input. Nodes are settled in the order in which nothing waits for
  // them any more, from the leaves back.
  void find_needed() {
    for (auto& [node, task] : tasks_) task.is_needed = false;
    for (size_t i = 0; i < call_.inputs.size(); ++i) {
      const auto found = tasks_.find(call_.inputs[i].node.get());
      if (found == tasks_.end()) continue;
      if (call_.captures[i]) found->second.captures.emplace_back(call_.inputs[i].output, i);
      else found->second.is_needed = true;
    }
    std::vector<Node*> topological;
    std::unordered_map<Node*, int> waiting;
    std::vector<Node*> pending;
    for (Node* node : order_)
      if ((waiting[node] = tasks_[node].dependencies) == 0) pending.push_back(node);
    while (!pending.empty()) {
      Node* node = pending.back();
      pending.pop_back();
      topological.push_back(node);
      for (const Edge& edge : node->next_edges())
        if (edge.node && --waiting[edge.node.get()] == 0) pending.push_back(edge.node.get());
    }
    for (size_t i = topological.size(); i-- > 0;) {
      Task& task = tasks_[topological[i]];
      for (const Edge& edge : topological[i]->next_edges()) {
        if (!edge.node) continue;
        const Task& next = tasks_[edge.node.get()];
        task.is_needed = task.is_needed || next.is_needed || !next.captures.empty();
      }
    }
  }

  void deliver(const Edge& edge, Tensor gradient) {
    if (!gradient.defined()) return;
    Tensor& slot = tasks_[edge.node.get()].gradients[static_cast<size_t>(edge.output)];
    slot = slot.defined() ? add(slot, gradient) : std::move(gradient);
  }

  void make_ready(const std::shared_ptr<Node>& node) {
    Task& task = tasks_[node.get()];
    if (task.dependencies != 0) return;
    task.dependencies = -1;  // queued
    ready_.push({node, node->sequence_nr()});
  }

  void run_node(Node& node) {
    Task task = std::move(tasks_[&node]);
    run_output_hooks(node, task.gradients);
    for (const auto& [output, place] : task.captures) captured_[place] = task.gradients[static_cast<size_t>(output)];
    std::vector<Tensor> gradients;
    const bool any =
        std::any_of(task.gradients.begin(), task.gradients.end(), [](const Tensor& t) { return t.defined(); });
    if (task.is_needed && any) {
      gradients = node.apply(std::move(task.gradients), call_.create_graph);
      if (!call_.keep_graph) node.release_saved();
      if (gradients.size() != node.next_edges().size())
        throw InternalError(
            text::cat(node.name(), " gave ", gradients.size(), " gradients for ", node.next_edges().size(), " inputs"));
    }
    for (size_t i = 0; i < node.next_edges().size(); ++i) {
      const Edge& edge = node.next_edges()[i];
      if (!edge.node) continue;
      Task& next = tasks_[edge.node.get()];
      if (!gradients.empty() && (next.is_needed || !next.captures.empty())) deliver(edge, std::move(gradients[i]));
      --next.dependencies;
      make_ready(edge.node);
    }
  }

  void run_output_hooks(Node& node, std::vector<Tensor>& gradients) {
    Node::OutputHooks* hooks = node.existing_output_hooks();
    if (auto* leaf = dynamic_cast<AccumulateGrad*>(&node)) {
      std::vector<Hook> leaf_hooks;
      {
        const std::lock_guard lock(autograd_mutex(*leaf->variable().impl()));
        leaf_hooks = autograd_of(*leaf->variable().impl()).hooks.snapshot();
      }
      run_hooks(leaf_hooks, gradients[0]);
      return;
    }
    if (!hooks) return;
    for (size_t i = 0; i < gradients.size(); ++i) {
      run_hooks(hooks->outputs[i].hooks.snapshot(), gradients[i]);
      for (const auto& retained : hooks->outputs[i].retained)
        if (gradients[i].defined()) add_retained(*retained, gradients[i]);
    }
  }

  void add_retained(Tensor& retained, const Tensor& gradient) {
    retained = retained.defined() ? add(retained, gradient) : gradient;
  }

  // A hook sees values: what it keeps is not changed by what comes after it.
  void run_hooks(const std::vector<Hook>& hooks, Tensor& gradient) {
    if (!gradient.defined()) return;
    for (const Hook& hook : hooks) {
      const Tensor replaced = hook(gradient);
      if (!replaced.defined()) continue;
      if (!same_sizes(replaced, gradient) || replaced.dtype() != gradient.dtype())
        throw UserError(text::cat("a gradient hook turned ", type_text(gradient), " into ", type_text(replaced),
                                  "; it must keep sizes and dtype"));
      gradient = replaced;
    }
  }

  struct Ready {
    std::shared_ptr<Node> node;
    uint64_t sequence_nr;
    bool operator<(const Ready& other) const { return sequence_nr < other.sequence_nr; }
  };

  BackwardCall call_;
  std::vector<Tensor> captured_;
  std::unordered_map<Node*, Task> tasks_;
  std::vector<Node*> order_;
  std::priority_queue<Ready> ready_;
};

}  // namespace

std::vector<Tensor> run_backward(BackwardCall call) {
  EndActions end;
  return Engine(std::move(call)).run();
}

void at_end_of_backward(std::function<void()> action) {
  if (EndActions::innermost) EndActions::innermost->add(std::move(action));
  else action();
}

}  // namespace fulgurite
