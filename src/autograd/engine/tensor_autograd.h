#pragma once
#include <list>
#include <memory>
#include <mutex>

#include <fulgurite/autograd.h>

#include "autograd/engine/modes.h"
#include "ops/core/rules.h"
#include "support/context.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

/// Hooks in order of registration. A handle removes its own. Thread-safe.
template <class F>
class HookList {
 public:
  HookHandle add(F hook) {
    const std::lock_guard lock(mutex_);
    context().hook_changes.fetch_add(1, std::memory_order_relaxed);
    hooks_.push_back({std::move(hook), nullptr});
    const auto position = std::prev(hooks_.end());
    position->remove = std::make_shared<std::function<void()>>([this, position] { remove(position); });
    return HookHandle(position->remove);
  }
  bool empty() const {
    const std::lock_guard lock(mutex_);
    return hooks_.empty();
  }
  /// A copy, so that a hook may remove itself.
  std::vector<F> snapshot() const {
    const std::lock_guard lock(mutex_);
    std::vector<F> out;
    for (const Entry& entry : hooks_) out.push_back(entry.hook);
    return out;
  }

 private:
  struct Entry {
    F hook;
    std::shared_ptr<std::function<void()>> remove;
  };
  void remove(typename std::list<Entry>::iterator position) {
    const auto keep = position->remove;  // it is running
    const std::lock_guard lock(mutex_);
    context().hook_changes.fetch_add(1, std::memory_order_relaxed);
    hooks_.erase(position);
  }
  mutable std::mutex mutex_;
  std::list<Entry> hooks_;
};

/// The engine's state of a tensor.
struct TensorAutograd final : AutogradMeta {
  // The result of a recorded call.
  std::shared_ptr<Node> grad_fn;
  int output = 0;
  std::shared_ptr<Tensor> retained_grad;  // shared with the node, which must not own the tensor

  // A leaf.
  Tensor grad;
  std::weak_ptr<Node> accumulator;
  HookList<Hook> hooks;
  HookList<std::function<void(Tensor)>> post_accumulate_hooks;
};

struct Node::Hooks {
  struct ForOutput {
    HookList<Hook> hooks;
    std::vector<std::shared_ptr<Tensor>> retained;
  };
  std::vector<ForOutput> outputs;
  HookList<NodePrehook> before;
  HookList<NodeHook> after;
};

/// Guards a tensor's TensorAutograd: threads share leaves.
std::mutex& autograd_mutex(const TensorImpl&);
/// The tensor's autograd state, created if there is none. Hold autograd_mutex().
TensorAutograd& autograd_of(const TensorImpl&);

/// The edge of the tensor's gradient; without a node if it does not require grad.
Edge gradient_edge(const Tensor&);
/// The node that made the tensor; null for a leaf.
std::shared_ptr<Node> node_of(const Tensor&);
/// Makes the tensor the node's output.
void set_history(const Tensor&, std::shared_ptr<Node>, int output);
/// A tensor of the same elements without history.
Tensor without_history(const Tensor&);
/// The gradient of a leaf, or a retained one; undefined if there is none.
Tensor gradient_of(const Tensor&);
void set_gradient(const Tensor& leaf, Tensor gradient);
/// If a view's base got a new history since the view was made, gives the view its part of that. Does nothing to other
/// tensors.
void bring_history_up_to_date(const Tensor& view);

/// Zeros of that type.
Tensor make_zeros(const TensorType&);
/// "[2, 3] != [3]"-style comparison without guards: concrete tensors only.
bool same_sizes(const Tensor&, const Tensor&);

}  // namespace fulgurite
