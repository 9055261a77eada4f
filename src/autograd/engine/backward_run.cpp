#include "autograd/engine/backward_run.h"

#include <algorithm>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "autograd/engine/accumulate_grad.h"
#include "autograd/engine/anomaly.h"
#include "autograd/hooks/finished_turns.h"
#include "autograd/hooks/node_hooks.h"
#include "ops/core/dispatch.h"
#include "support/thread_state.h"

namespace fulgurite {

namespace {

void replace(std::vector<Tensor>& gradients, const std::optional<std::vector<Tensor>>& replacements) {
  if (replacements) gradients = *replacements;
}

}  // namespace

BackwardRun* BackwardRun::innermost() { return thread_state.backward; }

BackwardRun::BackwardRun(BackwardCall call)
    : call_(std::move(call)), captured_(call_.inputs.size()), outer_(thread_state.backward) {
  thread_state.backward = this;
  if (call_.finished) callbacks_ = call_.finished->callbacks;
}

BackwardRun::~BackwardRun() {
  thread_state.backward = outer_;
  for (const Task& task : tasks_)
    if (task.is_claimed) task.node->run_.store(nullptr, std::memory_order_release);
  for (const auto& action : end_actions_) action();
}

int64_t BackwardRun::find(const Node& node) const {
  if (node.run_.load(std::memory_order_relaxed) == this) return node.place_;
  const auto found = held_by_others_.find(&node);
  return found == held_by_others_.end() ? -1 : int64_t{found->second};
}

uint32_t BackwardRun::find_or_add(Node& node) {
  const BackwardRun* holder = nullptr;
  const auto next = static_cast<uint32_t>(tasks_.size());
  const bool is_claimed =
      node.run_.compare_exchange_strong(holder, this, std::memory_order_acquire, std::memory_order_relaxed);
  if (!is_claimed) {
    if (holder == this) return node.place_;
    const auto [at, is_new] = held_by_others_.try_emplace(&node, next);
    if (!is_new) return at->second;
  } else {
    node.place_ = next;
  }
  Task& task = tasks_.emplace_back();
  task.node = &node;
  task.is_claimed = is_claimed;
  task.gradients.resize(node.output_count());
  return next;
}

void BackwardRun::count_dependencies() {
  for (const Edge& root : call_.roots) find_or_add(*root.node);
  // Nodes are appended as they are found, so that the list is its own queue.
  for (size_t at = 0; at < tasks_.size(); ++at)
    for (const Edge& edge : tasks_[at].node->next_edges())
      if (is_reached(edge)) {
        const uint32_t position = find_or_add(*edge.node);
        ++tasks_[position].dependencies;
      }
}

// A node is needed if one of its edges leads to an input. Topological order from the leaves back.
void BackwardRun::find_needed() {
  for (Task& task : tasks_) task.is_needed = false;
  for (size_t i = 0; i < call_.inputs.size(); ++i) {
    const int64_t position = find(*call_.inputs[i].node);
    if (position < 0) continue;
    Task& task = tasks_[static_cast<size_t>(position)];
    if (!call_.captures[i]) {
      task.is_needed = true;
      continue;
    }
    captures_.push_back({call_.inputs[i].output, i, task.first_capture});
    task.first_capture = static_cast<int>(captures_.size()) - 1;
  }
  std::vector<uint32_t> topological;
  std::vector<int> waiting(tasks_.size());
  for (uint32_t position = 0; position < tasks_.size(); ++position)
    if ((waiting[position] = tasks_[position].dependencies) == 0) topological.push_back(position);
  for (size_t at = 0; at < topological.size(); ++at)
    for (const Edge& edge : tasks_[topological[at]].node->next_edges())
      if (is_reached(edge)) {
        const auto next = static_cast<uint32_t>(find(*edge.node));
        if (--waiting[next] == 0) topological.push_back(next);
      }
  for (size_t i = topological.size(); i-- > 0;) {
    Task& task = tasks_[topological[i]];
    for (const Edge& edge : task.node->next_edges()) task.is_needed = task.is_needed || leads_to_input(edge);
  }
}

bool BackwardRun::leads_to_input(const Edge& edge) const {
  if (!is_reached(edge)) return false;
  const Task& task = tasks_[static_cast<size_t>(find(*edge.node))];
  return task.is_needed || task.first_capture >= 0;
}

void BackwardRun::deliver(const Edge& edge, Tensor gradient) {
  if (!gradient.defined()) return;
  Tensor& slot = tasks_[static_cast<size_t>(find(*edge.node))].gradients[static_cast<size_t>(edge.output)];
  if (!slot.defined()) slot = std::move(gradient);
  else if (!call_.create_graph && is_uniquely_owned(slot) && same_sizes(slot, gradient) &&
           slot.dtype() == gradient.dtype())
    slot.add_(gradient);
  else slot = add(slot, gradient);
}

void BackwardRun::make_ready(uint32_t position) {
  Task& task = tasks_[position];
  if (task.dependencies != 0 || task.is_queued) return;
  task.is_queued = true;
  ready_.push({task.node->sequence_nr(), position});
}

std::vector<Tensor> BackwardRun::run() {
  const InterpreterScope eager(nullptr);
  const GradModeScope grad_mode(call_.create_graph);
  if (!call_.inputs.empty()) {
    min_topological_nr_ = ~uint64_t{0};
    for (const Edge& input : call_.inputs)
      min_topological_nr_ = std::min(min_topological_nr_, input.node->topological_nr());
  }
  count_dependencies();
  if (!call_.inputs.empty()) find_needed();
  for (size_t i = 0; i < call_.roots.size(); ++i) deliver(call_.roots[i], std::move(call_.gradients[i]));
  for (const Edge& root : call_.roots) make_ready(static_cast<uint32_t>(find(*root.node)));
  while (!ready_.empty()) {
    const uint32_t position = ready_.top().position;
    ready_.pop();
    run_node(std::move(tasks_[position]));
  }
  return std::move(captured_);
}

void BackwardRun::run_node(Task task) {
  Node& node = *task.node;
  Node::Hooks* const hooks = node.existing_hooks();
  const FinishedTurn* const finished = call_.finished ? call_.finished->find(node) : nullptr;
  if (finished) [[unlikely]]
    repeat_tensor_hooks(node, *finished, task.gradients);
  else run_tensor_hooks(node, hooks, task.gradients);
  for (int at = task.first_capture; at >= 0; at = captures_[static_cast<size_t>(at)].next) {
    const Capture& capture = captures_[static_cast<size_t>(at)];
    captured_[capture.input] = task.gradients[static_cast<size_t>(capture.output)];
  }
  std::vector<Tensor> gradients;
  if (task.is_needed) gradients = execute(node, task, finished);
  const std::vector<Edge>& edges = node.next_edges();
  const bool last_first = node.reverse_edges();
  for (size_t k = 0; k < edges.size(); ++k) {
    const size_t i = last_first ? edges.size() - 1 - k : k;
    if (!is_reached(edges[i])) continue;
    const auto position = static_cast<uint32_t>(find(*edges[i].node));
    if (!gradients.empty() && leads_to_input(edges[i])) deliver(edges[i], std::move(gradients[i]));
    --tasks_[position].dependencies;
    make_ready(position);
  }
}

uint64_t BackwardRun::needed_gradients(const Node& node) const {
  uint64_t needed = 0;
  const std::vector<Edge>& edges = node.next_edges();
  for (size_t i = 0; i < std::min<size_t>(edges.size(), 64); ++i) needed |= uint64_t{leads_to_input(edges[i])} << i;
  return needed;
}

std::vector<Tensor> BackwardRun::execute(Node& node, Task& task, const FinishedTurn* finished) {
  std::vector<Tensor> gradients(std::make_move_iterator(task.gradients.begin()),
                                std::make_move_iterator(task.gradients.end()));
  std::vector<Tensor> of_outputs;
  if (finished) [[unlikely]]
    replace(gradients, finished->before);
  else of_outputs = run_before(node, gradients);
  std::vector<Tensor> results;
  NodeRun how{.create_graph = call_.create_graph};
  if (!call_.inputs.empty()) how.needed = needed_gradients(node);
  // A node without gradients has nothing to compute; its hooks run all the same, as in PyTorch.
  const auto is_given = [](const Tensor& t) { return t.defined(); };
  const bool has_run = finished && (node.accumulates_into() || finished->results);
  const bool computes = !has_run && (node.is_custom() || node.accumulates_into() ||
                                     std::any_of(gradients.begin(), gradients.end(), is_given));
  if (!computes) results.resize(node.next_edges().size());
  const auto apply = [&] {
    if (!computes) return;
    results = node.apply(std::move(gradients), how);
    if (results.size() != node.next_edges().size())
      throw InternalError(
          text::cat(node.name(), " gave ", results.size(), " gradients for ", node.next_edges().size(), " inputs"));
  };
  try {
    if (autograd_modes().detects_anomaly) [[unlikely]]
      explain_failure(node, apply);
    else apply();
  } catch (const RuleError& error) {
    throw UserError(text::cat(node.name(), ": ", error.message), node.source());
  }
  if (!call_.inputs.empty() && !node.is_custom())
    for (size_t i = 0; i < results.size(); ++i)
      if (i < 64 ? !how.needs(i) : !leads_to_input(node.next_edges()[i])) results[i] = Tensor();
  if (finished) [[unlikely]] {
    replace(results, finished->results);
    replace(results, finished->after);
  } else {
    run_after(node, results, of_outputs);
  }
  if (!call_.keep_graph) node.release_saved();
  if (autograd_modes().checks_nan) [[unlikely]]
    check_nan(node, results);
  return results;
}

void BackwardRun::run_callbacks() {
  for (size_t i = 0; i < callbacks_.size(); ++i) {
    const std::function<void()> callback = std::move(callbacks_[i]);
    callback();
  }
}

}  // namespace fulgurite
