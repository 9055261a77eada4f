#pragma once
#include <fulgurite/detail/requirements.h>

#include <concepts>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <fulgurite/autograd_modes.h>
#include <fulgurite/node.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// Members are given in this order.
struct BackwardOptions {
  std::optional<bool> retain_graph = {};  // defaults to create_graph
  /// The gradients can be differentiated again. A gradient stored in a tensor (a leaf's, or with retain_grad) then
  /// refers to that tensor through its graph, as in PyTorch: reset it with `set_grad({})` or `zero_grad()`, or neither
  /// is freed.
  bool create_graph = false;
  std::vector<Tensor> inputs = {};  // accumulate only into these; empty: into every leaf
};

namespace detail {
template <class F>
inline constexpr char type_of_hook = 0;
}  // namespace detail

namespace autograd {

/// A hook for Tensor::register_hook whose operators compiled autograd records into the captured backward, so that they
/// are compiled with it, instead of calling the hook at each run. The hook therefore runs when the backward is
/// captured: side effects other than operators on tensors are not repeated, and captured values keep their state of
/// that time, tensors by the object. Stateless hooks of one type share captures; each hook with state has captures of
/// its own, so register it once and not in each step.
///
/// A hook that reads elements (item(), if, printing), draws random numbers, or writes into a tensor other than its
/// argument is called instead, with a warning; with Options::fullgraph that is an error.
///
///     x.register_hook(autograd::traceable([](Tensor gradient) { return clamp(gradient, -1, 1); }));
template <class F>
Hook traceable(F hook) {
  std::shared_ptr<const void> recorded_as;
  if constexpr (std::is_empty_v<F>) recorded_as = {std::shared_ptr<const void>(), &fulgurite::detail::type_of_hook<F>};
  else recorded_as = std::make_shared<char>();
  return Hook(std::move(hook), std::move(recorded_as));
}

/// A parameter that accepts a tensor, braces of tensors or a vector of them.
class TensorList {
 public:
  TensorList() = default;
  template <std::same_as<Tensor> T>
  TensorList(const T& tensor) : tensors_{tensor} {}
  explicit TensorList(const Tensor& tensor) : tensors_{tensor} {}  // so g++ 12 refuses `{.name = x}`, as clang does
  TensorList(std::initializer_list<Tensor> tensors) : tensors_(tensors) {}
  TensorList(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {}
  const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  std::vector<Tensor> tensors_;
};

/// Members are given in this order.
struct GradOptions {
  std::optional<bool> retain_graph = {};  // defaults to create_graph
  bool create_graph = false;
  bool allow_unused = false;       // an input that the outputs do not depend on has an undefined gradient
  bool materialize_grads = false;  // … or zeros
};

/// Returns the gradients of the sum of `outputs`, each weighted by its gradient, with respect to `inputs`, without
/// accumulating.
std::vector<Tensor> grad(const TensorList& outputs, const TensorList& inputs, const TensorList& gradients = {},
                         const GradOptions& = {}, SourceLocation at = SourceLocation::here());
/// The same with the options as LibTorch takes them: grad({y}, {x}, {}, true, true).
template <std::same_as<bool> Retain>
std::vector<Tensor> grad(const TensorList& outputs, const TensorList& inputs, const TensorList& gradients,
                         Retain retain_graph, bool create_graph = false, bool allow_unused = false,
                         SourceLocation at = SourceLocation::here()) {
  return grad(outputs, inputs, gradients,
              {.retain_graph = retain_graph, .create_graph = create_graph, .allow_unused = allow_unused}, at);
}
/// Tensor::backward for several outputs in one run.
void backward(const TensorList& outputs, const TensorList& gradients = {}, const BackwardOptions& = {},
              SourceLocation at = SourceLocation::here());

/// Runs `callback` when the backward running on this thread has ended, after every leaf has its gradient: in the order
/// queued, those queued by callbacks last. None runs if the backward fails. Only hooks, custom functions and callbacks
/// can call it. PyTorch: torch.autograd.Variable._execution_engine.queue_callback.
void queue_callback(std::function<void()> callback, SourceLocation at = SourceLocation::here());

}  // namespace autograd
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
