#pragma once
#include <functional>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include <fulgurite/autograd_modes.h>
#include <fulgurite/node.h>
#include <fulgurite/tensor.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// Members are given in this order.
struct BackwardOptions {
  std::optional<bool> retain_graph = {};  // as create_graph when not given
  bool create_graph = false;              // the gradients can be differentiated again
  std::vector<Tensor> inputs = {};        // accumulate into these only; empty: into every leaf
};

namespace autograd {

/// A parameter that takes a tensor, braces of tensors or a vector of them.
class TensorList {
 public:
  TensorList() = default;
  TensorList(const Tensor& tensor) : tensors_{tensor} {}
  TensorList(std::initializer_list<Tensor> tensors) : tensors_(tensors) {}
  TensorList(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {}
  const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  std::vector<Tensor> tensors_;
};

/// Members are given in this order.
struct GradOptions {
  std::optional<bool> retain_graph = {};  // as create_graph when not given
  bool create_graph = false;
  bool allow_unused = false;       // an input that the outputs do not depend on has an undefined gradient
  bool materialize_grads = false;  // … or zeros
};

/// The gradients of the sum of `outputs`, each weighed with its gradient, with respect to `inputs`; nothing is
/// accumulated.
std::vector<Tensor> grad(const TensorList& outputs, const TensorList& inputs, const TensorList& gradients = {},
                         const GradOptions& = {}, SourceLocation at = SourceLocation::here());
/// Tensor::backward for several outputs at once.
void backward(const TensorList& outputs, const TensorList& gradients = {}, const BackwardOptions& = {},
              SourceLocation at = SourceLocation::here());

/// Has `callback` run when the backward that runs on this thread has ended, after every leaf has its gradient: in the order queued, those
/// that callbacks queue last. None runs when the backward fails. Only hooks, custom functions and callbacks can call it.
/// PyTorch: torch.autograd.Variable._execution_engine.queue_callback.
void queue_callback(std::function<void()> callback, SourceLocation at = SourceLocation::here());

}  // namespace autograd
}  // namespace fulgurite
#pragma GCC visibility pop
