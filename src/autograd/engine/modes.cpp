#include "autograd/engine/modes.h"

#include <fulgurite/error.h>
#include <fulgurite/libtorch_names.h>

#include "ops/core/dispatch.h"
#include "tensor/write_count.h"

namespace fulgurite {

bool grad_enabled() { return thread_state.modes.grad; }
bool in_inference_mode() { return thread_state.modes.inference; }

NoGrad::NoGrad() : previous_(thread_state.modes.grad) { thread_state.modes.grad = false; }
NoGrad::~NoGrad() { thread_state.modes.grad = previous_; }

EnableGrad::EnableGrad() : previous_(thread_state.modes.grad) { thread_state.modes.grad = true; }
EnableGrad::~EnableGrad() { thread_state.modes.grad = previous_; }

AutoGradMode::AutoGradMode(bool enabled) : previous_(thread_state.modes.grad) { thread_state.modes.grad = enabled; }
AutoGradMode::~AutoGradMode() { thread_state.modes.grad = previous_; }
bool is_grad_enabled() { return thread_state.modes.grad; }
void set_grad_enabled(bool enabled) { thread_state.modes.grad = enabled; }

namespace detail {

ModeScope::ModeScope() : previous_(std::make_unique<AutogradModes>(autograd_modes())) {}
ModeScope::~ModeScope() { autograd_modes() = *previous_; }
AutogradModes& ModeScope::modes() const { return autograd_modes(); }

}  // namespace detail

InferenceMode::InferenceMode(bool enabled) {
  modes().inference = enabled;
  modes().grad = !enabled;
}

DetectAnomaly::DetectAnomaly(bool check_nan) {
  modes().detects_anomaly = true;
  modes().checks_nan = check_nan;
}

void SavedTensorsHooks::set(std::function<std::any(const Tensor&)> pack, std::function<Tensor(const std::any&)> unpack,
                            SourceLocation at) {
  if (modes().packing_is_disabled) throw UserError(text::cat("SavedTensorsHooks: ", *modes().packing_is_disabled), at);
  packing_ = std::make_shared<const SavedTensorPacking>(SavedTensorPacking{std::move(pack), std::move(unpack)});
  modes().packing = &packing_;
}

DisableSavedTensorsHooks::DisableSavedTensorsHooks(std::string message) : message_(std::move(message)) {
  modes().packing_is_disabled = &message_;
  modes().packing = nullptr;
}

}  // namespace fulgurite
