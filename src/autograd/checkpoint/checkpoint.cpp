#include "autograd/checkpoint/checkpoint.h"

#include <fulgurite/error.h>
#include <fulgurite/function_transforms.h>

#include "autograd/engine/engine.h"
#include "autograd/engine/tensor_autograd.h"
#include "ops/core/dispatch.h"
#include "support/thread_state.h"

namespace fulgurite {

namespace {

/// Stands for the node that made an input: in the second run an input must not be a leaf unless it was one.
class InputNode final : public Node {
 public:
  std::string name() const override { return "CheckpointInput"; }
  size_t output_count() const override { return 1; }
  std::vector<Tensor> apply(std::vector<Tensor>, const NodeRun&) override { return {}; }
};

template <class F>
class AtEnd {
 public:
  explicit AtEnd(F run) : run_(std::move(run)) {}
  ~AtEnd() { run_(); }
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;

 private:
  F run_;
};

}  // namespace

CheckpointedCall::CheckpointedCall(const std::vector<Tensor>& inputs, Run run, SourceLocation at)
    : run_(std::move(run)), at_(at) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs_.emplace_back(inputs[i], SavedTensor::Origin::input, i);
    requires_grad_.push_back(inputs[i].defined() && inputs[i].requires_grad());
  }
}

CheckpointedCall* CheckpointedCall::active() { return thread_state.checkpoint; }

CheckpointedCall::Scope::Scope(std::shared_ptr<CheckpointedCall> call, bool recomputes)
    : call_(std::move(call)),
      recomputes_(recomputes),
      outer_(thread_state.checkpoint),
      outer_recomputes_(thread_state.checkpoint_recomputes),
      draws_(recomputes ? call_->replayed_ : call_->draws_) {
  thread_state.checkpoint = call_.get();
  thread_state.checkpoint_recomputes = recomputes;
  if (recomputes) repeats_writes_.emplace(call_->writes_);
  else records_writes_.emplace(call_->writes_);
}
CheckpointedCall::Scope::~Scope() {
  thread_state.checkpoint = outer_;
  thread_state.checkpoint_recomputes = outer_recomputes_;
  if (!recomputes_) call_->is_complete_ = true;
}

void CheckpointedCall::save(SavedTensor& saved, bool is_leaf) {
  const TensorImpl& impl = *saved.elements_.impl();
  const std::shared_ptr<CheckpointedCall> self = shared_from_this();
  if (!thread_state.checkpoint_recomputes) {
    saved.slot_ = slots_.size();
    slots_.push_back({impl.sizes, impl.dtype, {}});
    if (!is_leaf) saved.elements_ = Tensor();
    saved.checkpoint_ = self;
    return;
  }
  const size_t slot = saved_again_++;
  if (slot >= slots_.size()) return;
  if (!(slots_[slot].sizes == impl.sizes) || slots_[slot].dtype != impl.dtype) {
    if (difference_.empty())
      difference_ =
          text::cat("the tensor saved at position ", slot, " was ", type_text(slot), " in the first run and is ",
                    fulgurite::type_text(saved.elements_), " in the recomputation");
    return;
  }
  slots_[slot].again = saved;
  saved.slot_ = slot;
  saved.checkpoint_ = self;  // of an in-place operator: both copies hold it
}

std::string CheckpointedCall::type_text(size_t slot) const {
  const Sizes& sizes = slots_[slot].sizes;
  TensorProxy proxy;
  proxy.shape = Shape(sizes.data(), sizes.size());
  proxy.dtype = slots_[slot].dtype;
  return proxy.type_text();
}

Tensor CheckpointedCall::take(size_t slot, const std::string& saved_by) {
  if (!slots_[slot].again.defined()) recompute();
  const SavedTensor again = std::exchange(slots_[slot].again, SavedTensor());
  return again.elements(saved_by);
}

void CheckpointedCall::keep_elements_of(size_t slot, const Storage& storage) {
  slots_[slot].again.keep_elements_of(storage);
}

std::vector<Tensor> CheckpointedCall::inputs_again() const {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    inputs.emplace_back();
    if (!inputs_[i].defined()) continue;
    inputs.back() = without_history(inputs_[i].elements("checkpoint()"));
    if (requires_grad_[i]) set_history(inputs.back(), std::make_shared<InputNode>(), 0);
  }
  return inputs;
}

void CheckpointedCall::recompute() {
  if (is_recomputing_)
    throw UserError("checkpoint: the function differentiates through its own first run while it is run again", at_);
  const std::vector<Tensor> inputs = inputs_again();
  // A backward inside the function, in its first run: later saves are not known yet.
  const size_t limit = slots_.size();
  for (SavedSlot& slot : slots_) slot.again = SavedTensor();
  replayed_.states = draws_.states;
  replayed_.replays = true;
  saved_again_ = 0;
  difference_.clear();
  is_recomputing_ = true;
  {
    const AtEnd end([this] { is_recomputing_ = false; });
    const InterpreterScope eager(nullptr);
    const AutocastScope autocast(autocast_);
    const GradModeScope grad_mode(true);
    const Scope scope(shared_from_this(), true);
    run_(inputs);
  }
  at_end_of_backward([call = weak_from_this()] {
    if (const auto alive = call.lock())
      for (SavedSlot& slot : alive->slots_) slot.again = SavedTensor();
  });
  check_recomputation(limit);
}

void CheckpointedCall::check_recomputation(size_t limit) const {
  std::string difference = difference_;
  if (difference.empty() && (saved_again_ < limit || (is_complete_ && saved_again_ > limit)))
    difference = text::cat("a different number of tensors was saved for backward: ", limit, " in the first run, ",
                           saved_again_, " in the recomputation");
  if (difference.empty()) return;
  throw UserError(
      text::cat("checkpoint: ", difference,
                "; the function must do the same each time it runs: its values must not depend on what changes "
                "between the call and backward()"),
      at_);
}

namespace detail {

bool records_eagerly() { return !is_tracing() && grad_enabled(); }

struct CheckpointScope::State {
  CheckpointedCall::Scope scope;
};
CheckpointScope::CheckpointScope(const std::vector<Tensor>& inputs, std::function<void(const std::vector<Tensor>&)> run,
                                 SourceLocation at)
    : state_(new State{{std::make_shared<CheckpointedCall>(inputs, std::move(run), at), false}}) {}
CheckpointScope::~CheckpointScope() = default;

}  // namespace detail

}  // namespace fulgurite
