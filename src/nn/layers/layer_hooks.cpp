#include <algorithm>
#include <mutex>

#include <fulgurite/layer_hooks.h>
#include <fulgurite/operators.h>

namespace fulgurite::nn::hook_detail {

namespace {

/// Hooks in the order registered, each with the function that its handle calls.
template <class Hook>
class HookList {
 public:
  HookHandle add(Hook hook, const std::weak_ptr<void>& owner) {
    const std::scoped_lock lock(mutex_);
    const int64_t id = ++last_id_;
    auto remove = std::make_shared<std::function<void()>>([this, id, owner] {
      if (const auto alive = owner.lock()) erase(id);
    });
    entries_.push_back({id, remove, std::move(hook)});
    return HookHandle(remove);
  }
  std::vector<Hook> hooks() const {
    const std::scoped_lock lock(mutex_);
    std::vector<Hook> out;
    for (const Entry& entry : entries_) out.push_back(entry.hook);
    return out;
  }
  bool empty() const {
    const std::scoped_lock lock(mutex_);
    return entries_.empty();
  }

 private:
  struct Entry {
    int64_t id;
    std::shared_ptr<std::function<void()>> remove;
    Hook hook;
  };
  void erase(int64_t id) {
    std::vector<Entry> erased;  // destroyed without the lock
    const std::scoped_lock lock(mutex_);
    const auto found = std::find_if(entries_.begin(), entries_.end(), [id](const Entry& e) { return e.id == id; });
    if (found == entries_.end()) return;
    erased.push_back(std::move(*found));
    entries_.erase(found);
  }
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  int64_t last_id_ = 0;
};

/// Runs the hooks on the gradients of one call: the result's arrives first, then the argument's.
void hook_gradients(const Tensor& argument, const Tensor& result, std::vector<BackwardHook> hooks) {
  struct Call {
    std::vector<BackwardHook> hooks;
    Tensor of_result;
  };
  const auto call = std::make_shared<Call>(Call{std::move(hooks), {}});
  const bool has_argument = argument.requires_grad();
  result.register_hook([call, has_argument](const Tensor& gradient) {
    call->of_result = gradient;
    if (has_argument) return;
    for (const BackwardHook& hook : call->hooks) hook(Tensor(), gradient);
  });
  if (!has_argument) return;
  argument.register_hook([call](Tensor gradient) {
    for (const BackwardHook& hook : call->hooks)
      if (const Tensor replaced = hook(gradient, call->of_result); replaced.defined()) gradient = replaced;
    call->of_result = Tensor();
    return gradient;
  });
}

}  // namespace

struct LayerHooks::Lists {
  HookList<ForwardPreHook> before;
  HookList<ForwardHook> after;
  HookList<BackwardHook> backward;
};

LayerHooks::LayerHooks() : lists_(std::make_shared<Lists>()) {}

HookHandle LayerHooks::add(ForwardPreHook hook) { return lists_->before.add(std::move(hook), lists_); }
HookHandle LayerHooks::add(ForwardHook hook) { return lists_->after.add(std::move(hook), lists_); }
HookHandle LayerHooks::add_backward(BackwardHook hook) { return lists_->backward.add(std::move(hook), lists_); }
bool LayerHooks::empty() const { return lists_->before.empty() && lists_->after.empty() && lists_->backward.empty(); }

Tensor LayerHooks::call(const Tensor& x, const std::function<Tensor(const Tensor&)>& layer) const {
  Tensor argument = x;
  for (const ForwardPreHook& hook : lists_->before.hooks())
    if (const Tensor replaced = hook(argument); replaced.defined()) argument = replaced;
  std::vector<BackwardHook> backward = lists_->backward.hooks();
  // The gradient of this use of the argument alone.
  if (!backward.empty() && argument.requires_grad()) argument = view_as(argument, argument);
  Tensor result = layer(argument);
  for (const ForwardHook& hook : lists_->after.hooks())
    if (const Tensor replaced = hook(argument, result); replaced.defined()) result = replaced;
  if (!backward.empty() && result.requires_grad()) hook_gradients(argument, result, std::move(backward));
  return result;
}

}  // namespace fulgurite::nn::hook_detail
