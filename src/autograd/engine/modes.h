#pragma once
#include <any>
#include <functional>
#include <memory>
#include <string>

#include <fulgurite/autograd_modes.h>

namespace fulgurite {

/// A pair of functions that pack and unpack saved tensors.
struct SavedTensorPacking {
  std::function<std::any(const Tensor&)> pack;
  std::function<Tensor(const std::any&)> unpack;
};

class BackwardInterceptor;
class CompiledRun;

/// The autograd modes of a thread. Pointees belong to the scope that set them.
struct AutogradModes {
  bool grad = true;
  bool inference = false;
  bool detects_anomaly = false;
  bool checks_nan = false;
  const std::shared_ptr<const SavedTensorPacking>* packing = nullptr;  // null: tensors are saved as they are
  const std::string* packing_is_disabled = nullptr;                    // the reason
  BackwardInterceptor* interceptor = nullptr;                          // runs outermost backwards instead of the engine
  CompiledRun* compiled_run = nullptr;                                 // of a captured backward, while it runs
};
AutogradModes& autograd_modes();

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
