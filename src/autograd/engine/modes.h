#pragma once
#include <any>
#include <functional>
#include <memory>
#include <string>

#include <fulgurite/autograd_modes.h>

namespace fulgurite {

/// A pair of functions by which saved tensors are kept in another form.
struct SavedTensorPacking {
  std::function<std::any(const Tensor&)> pack;
  std::function<Tensor(const std::any&)> unpack;
};

class BackwardInterceptor;
class CompiledRun;

/// The modes of a thread that the engine knows. What is pointed to belongs to the scope that set it.
struct AutogradModes {
  bool grad = true;
  bool inference = false;
  bool detects_anomaly = false;
  bool checks_nan = false;
  const std::shared_ptr<const SavedTensorPacking>* packing = nullptr;  // null: tensors are saved as they are
  const std::string* packing_is_disabled = nullptr;                    // why
  BackwardInterceptor* interceptor = nullptr;  // runs whole backwards in the engine's place
  CompiledRun* compiled_run = nullptr;         // of a captured backward, while it runs
};
AutogradModes& autograd_modes();

/// At its end the thread's modes are what they were.
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
