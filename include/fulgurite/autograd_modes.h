#pragma once
#include <fulgurite/detail/requirements.h>

#include <any>
#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

struct AutogradModes;
struct SavedTensorPacking;

namespace detail {

/// Sets the thread's modes for a scope. Scopes end in the reverse order of their beginning.
class ModeScope {
 public:
  ModeScope(const ModeScope&) = delete;
  ModeScope& operator=(const ModeScope&) = delete;

 protected:
  ModeScope();
  ~ModeScope();
  AutogradModes& modes() const;

 private:
  std::unique_ptr<AutogradModes> previous_;
};

}  // namespace detail

/// While alive, operators of this thread record nothing for backward.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool previous_;
};

/// While alive, operators of this thread record, also inside NoGrad.
class EnableGrad {
 public:
  EnableGrad();
  ~EnableGrad();
  EnableGrad(const EnableGrad&) = delete;
  EnableGrad& operator=(const EnableGrad&) = delete;

 private:
  bool previous_;
};

/// While alive, operators of this thread record if `enabled`: NoGrad or EnableGrad, chosen at run time.
class AutoGradMode {
 public:
  explicit AutoGradMode(bool enabled);
  ~AutoGradMode();
  AutoGradMode(const AutoGradMode&) = delete;
  AutoGradMode& operator=(const AutoGradMode&) = delete;

 private:
  bool previous_;
};
/// Returns true if operators of this thread record (torch.is_grad_enabled).
bool is_grad_enabled();

/// NoGrad, and further: tensors made while it is alive are inference tensors, whose writes are not counted. They cannot
/// be saved for a backward, and outside the mode neither be written nor made to require grad; clone() returns a normal
/// tensor. `InferenceMode(false)` suspends the mode. PyTorch: torch.inference_mode.
class InferenceMode : detail::ModeScope {
 public:
  explicit InferenceMode(bool enabled = true);
};

/// While alive, a backward on this thread reports the line of the forward whose gradient failed, and with `check_nan`
/// fails at the first node that computes a NaN. PyTorch: torch.autograd.detect_anomaly.
class DetectAnomaly : detail::ModeScope {
 public:
  explicit DetectAnomaly(bool check_nan = true);
};

/// While alive, tensors saved for backward on this thread are stored in another form: `pack` converts each saved tensor
/// to any type, `unpack` converts it back to a tensor each time a backward needs it. Both run without recording. `pack`
/// must not write its argument. The innermost pair applies. PyTorch: torch.autograd.graph.saved_tensors_hooks.
///
///     SavedTensorsHooks on_disk([](Tensor t) { return store(t); }, [](const Place& place) { return load(place); });
class SavedTensorsHooks : detail::ModeScope {
 public:
  template <class Pack, class Unpack>
  requires(std::invocable<Pack&, Tensor>&& std::invocable<Unpack&, std::invoke_result_t<Pack&, Tensor>>)
      SavedTensorsHooks(Pack pack, Unpack unpack, SourceLocation at = SourceLocation::here()) {
    using Packed = std::decay_t<std::invoke_result_t<Pack&, Tensor>>;
    static_assert(std::is_convertible_v<std::invoke_result_t<Unpack&, const Packed&>, Tensor>, "unpack gives a Tensor");
    set([pack = std::move(pack)](const Tensor& tensor) mutable { return std::any(Packed(pack(tensor))); },
        [unpack = std::move(unpack)](const std::any& packed) mutable -> Tensor {
          return unpack(std::any_cast<const Packed&>(packed));
        },
        at);
  }

 private:
  void set(std::function<std::any(const Tensor&)> pack, std::function<Tensor(const std::any&)> unpack,
           SourceLocation at);
  std::shared_ptr<const SavedTensorPacking> packing_;
};

/// While alive, SavedTensorsHooks on this thread is an error with this text.
class DisableSavedTensorsHooks : detail::ModeScope {
 public:
  explicit DisableSavedTensorsHooks(std::string message);

 private:
  std::string message_;
};

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
