#pragma once
#include <any>
#include <functional>
#include <memory>
#include <string>

#include <fulgurite/autograd_modes.h>

#include "support/thread_state.h"

namespace fulgurite {

/// A pair of functions that pack and unpack saved tensors.
struct SavedTensorPacking {
  std::function<std::any(const Tensor&)> pack;
  std::function<Tensor(const std::any&)> unpack;
};

/// The autograd modes of this thread.
inline AutogradModes& autograd_modes() { return thread_state.modes; }

/// Restores the thread's modes at its end.
class ModesScope {
 public:
  ModesScope() : previous_(autograd_modes()) {}
  ~ModesScope() { autograd_modes() = previous_; }
  ModesScope(const ModesScope&) = delete;
  ModesScope& operator=(const ModesScope&) = delete;

 private:
  AutogradModes previous_;
};

/// A scope in which a node saves tensors that only its derivatives read.
class SavingForDerivatives {
 public:
  SavingForDerivatives() { autograd_modes().saves_for_derivatives = true; }
  ~SavingForDerivatives() { autograd_modes().saves_for_derivatives = false; }
  SavingForDerivatives(const SavingForDerivatives&) = delete;
  SavingForDerivatives& operator=(const SavingForDerivatives&) = delete;
};

/// Sets grad mode for a scope.
class GradModeScope {
 public:
  explicit GradModeScope(bool enabled) : previous_(autograd_modes().grad) { autograd_modes().grad = enabled; }
  ~GradModeScope() { autograd_modes().grad = previous_; }
  GradModeScope(const GradModeScope&) = delete;
  GradModeScope& operator=(const GradModeScope&) = delete;

 private:
  bool previous_;
};

}  // namespace fulgurite
