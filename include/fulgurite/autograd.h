#pragma once
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <fulgurite/tensor.h>

#pragma GCC visibility push(default)
namespace fulgurite {

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

/// What is run on a gradient. A callable that takes a Tensor and returns the tensor to go on with (Tensor,
/// std::optional<Tensor>), or std::nullopt or nothing to leave the gradient as it is.
class Hook {
 public:
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, Hook> && std::invocable<F&, Tensor>) Hook(F hook)
      : run_([hook = std::move(hook)](const Tensor& gradient) mutable -> Tensor {
          using Result = std::invoke_result_t<F&, Tensor>;
          if constexpr (std::is_void_v<Result>) {
            hook(gradient);
            return {};
          } else if constexpr (std::is_same_v<Result, std::nullopt_t>) {
            hook(gradient);
            return {};
          } else if constexpr (std::is_convertible_v<Result, std::optional<Tensor>>) {
            const std::optional<Tensor> replaced = hook(gradient);
            return replaced ? *replaced : Tensor();
          } else {
            static_assert(std::is_void_v<Result>,
                          "a hook returns a Tensor, std::optional<Tensor>, std::nullopt or nothing");
          }
        }) {}

  /// The tensor to go on with; undefined: the gradient as it is.
  Tensor operator()(const Tensor& gradient) const { return run_(gradient); }

 private:
  std::function<Tensor(const Tensor&)> run_;
};

/// Takes a hook away again. Dropping the handle leaves the hook in place.
class HookHandle {
 public:
  HookHandle() = default;
  explicit HookHandle(std::weak_ptr<std::function<void()>> remove) : remove_(std::move(remove)) {}
  void remove() const {
    if (const auto remove = remove_.lock()) (*remove)();
  }

 private:
  std::weak_ptr<std::function<void()>> remove_;
};

/// Members are given in this order.
struct BackwardOptions {
  std::optional<bool> retain_graph = {};  // as create_graph when not given
  bool create_graph = false;              // the gradients can be differentiated again
  std::vector<Tensor> inputs = {};        // accumulate into these only; empty: into every leaf
};

class Node;
/// Where a gradient goes: a node, and which of its outputs the gradient is of. Without a node it goes nowhere.
struct Edge {
  std::shared_ptr<Node> node;
  int output = 0;
};

/// A recorded call: makes the gradients of its inputs from those of its outputs.
class Node : public std::enable_shared_from_this<Node> {
 public:
  Node();
  virtual ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// "ExpBackward", "AccumulateGrad".
  virtual std::string name() const = 0;
  /// One for each tensor input, in order.
  const std::vector<Edge>& next_edges() const { return edges_; }
  /// Counts the nodes of a thread in the order made; backward runs the latest first.
  uint64_t sequence_nr() const { return sequence_nr_; }

  /// The gradients of the inputs, one for each edge. `gradients` has one for each output; undefined where there is
  /// none. With `create_graph` the computation is recorded itself.
  virtual std::vector<Tensor> apply(std::vector<Tensor> gradients, bool create_graph) = 0;
  virtual size_t output_count() const = 0;
  /// Drops what was saved; apply() is an error afterwards.
  virtual void release_saved() {}

  /// Hooks on the gradient of one output, run in order before the node; see Tensor::register_hook.
  struct OutputHooks;
  OutputHooks& output_hooks();
  OutputHooks* existing_output_hooks() const { return output_hooks_.get(); }

 protected:
  void add_edge(Edge edge) { edges_.push_back(std::move(edge)); }
  void set_sequence_nr(uint64_t number) { sequence_nr_ = number; }

 private:
  void give_edges_to(std::vector<std::shared_ptr<Node>>& pending);
  std::vector<Edge> edges_;
  uint64_t sequence_nr_;
  std::shared_ptr<OutputHooks> output_hooks_;
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

}  // namespace autograd
}  // namespace fulgurite
#pragma GCC visibility pop
