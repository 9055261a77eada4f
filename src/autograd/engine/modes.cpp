#include "autograd/engine/modes.h"

#include <fulgurite/error.h>
#include <fulgurite/libtorch_names.h>

#include "ops/core/dispatch.h"
#include "tensor/write_count.h"

namespace fulgurite {

namespace {
thread_local constinit AutogradModes current;
}

AutogradModes& autograd_modes() { return current; }

bool grad_enabled() { return current.grad; }
bool in_inference_mode() { return current.inference; }

NoGrad::NoGrad() : previous_(current.grad) { current.grad = false; }
NoGrad::~NoGrad() { current.grad = previous_; }

EnableGrad::EnableGrad() : previous_(current.grad) { current.grad = true; }
EnableGrad::~EnableGrad() { current.grad = previous_; }

AutoGradMode::AutoGradMode(bool enabled) : previous_(current.grad) { current.grad = enabled; }
AutoGradMode::~AutoGradMode() { current.grad = previous_; }
bool is_grad_enabled() { return current.grad; }
void set_grad_enabled(bool enabled) { current.grad = enabled; }

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
