#pragma once
#include <fulgurite/detail/requirements.h>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

namespace detail {

/// What a hook gave back, whatever it returns: Replaced, std::optional<Replaced>, std::nullopt or nothing.
template <class Replaced, class F, class... Args>
std::optional<Replaced> hook_result(F& hook, const Args&... arguments) {
  using Result = std::invoke_result_t<F&, const Args&...>;
  if constexpr (std::is_void_v<Result> || std::is_same_v<Result, std::nullopt_t>) {
    hook(arguments...);
    return std::nullopt;
  } else if constexpr (std::is_convertible_v<Result, std::optional<Replaced>>) {
    return hook(arguments...);
  } else {
    static_assert(std::is_void_v<Result>, "a hook returns what replaces its argument, a std::optional of it, std::nullopt or nothing");
  }
}

}  // namespace detail

/// What is run on a gradient. A callable that takes a Tensor and returns the tensor to go on with (Tensor,
/// std::optional<Tensor>), or std::nullopt or nothing to leave the gradient as it is.
class Hook {
 public:
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, Hook> && std::invocable<F&, const Tensor&>)
  Hook(F hook, std::shared_ptr<const void> recorded_as = {})
      : run_([hook = std::move(hook)](const Tensor& gradient) mutable {
          return detail::hook_result<Tensor>(hook, gradient).value_or(Tensor());
        }),
        recorded_as_(std::move(recorded_as)) {}

  /// The tensor to go on with; undefined: the gradient as it is.
  Tensor operator()(const Tensor& gradient) const { return run_(gradient); }
  /// Of a hook that captured backwards record (autograd::traceable): what is the same for hooks that record the same. Null: it is called.
  const std::shared_ptr<const void>& recorded_as() const { return recorded_as_; }

 private:
  std::function<Tensor(const Tensor&)> run_;
  std::shared_ptr<const void> recorded_as_;
};

/// What is run before a node, on the gradients of its outputs. A callable that takes a std::vector<Tensor> and returns the gradients to go
/// on with, or std::nullopt or nothing.
class NodePrehook {
 public:
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, NodePrehook> && std::invocable<F&, const std::vector<Tensor>&>) NodePrehook(F hook)
      : run_([hook = std::move(hook)](const std::vector<Tensor>& gradients) mutable {
          return detail::hook_result<std::vector<Tensor>>(hook, gradients);
        }) {}
  std::optional<std::vector<Tensor>> operator()(const std::vector<Tensor>& gradients) const { return run_(gradients); }

 private:
  std::function<std::optional<std::vector<Tensor>>(const std::vector<Tensor>&)> run_;
};

/// What is run after a node, on the gradients of its inputs and on those of its outputs. A callable that takes two std::vector<Tensor> and
/// returns the gradients of the inputs to go on with, or std::nullopt or nothing.
class NodeHook {
 public:
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, NodeHook> &&
           std::invocable<F&, const std::vector<Tensor>&, const std::vector<Tensor>&>) NodeHook(F hook)
      : run_([hook = std::move(hook)](const std::vector<Tensor>& of_inputs, const std::vector<Tensor>& of_outputs) mutable {
          return detail::hook_result<std::vector<Tensor>>(hook, of_inputs, of_outputs);
        }) {}
  std::optional<std::vector<Tensor>> operator()(const std::vector<Tensor>& of_inputs, const std::vector<Tensor>& of_outputs) const {
    return run_(of_inputs, of_outputs);
  }

 private:
  std::function<std::optional<std::vector<Tensor>>(const std::vector<Tensor>&, const std::vector<Tensor>&)> run_;
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

class BackwardRun;
class Node;
/// Where a gradient goes: a node, and which of its outputs the gradient is of. Without a node it goes nowhere.
struct Edge {
  std::shared_ptr<Node> node;
  int output = 0;
};

/// How a node is run.
struct NodeRun {
  bool create_graph = false;       // the computation is recorded itself
  uint64_t needed = ~uint64_t{0};  // bit i: the gradient of input i is asked for; of the 64th and later ones it always is
  bool needs(size_t input) const { return input >= 64 || (needed >> input & 1) != 0; }
};

/// A recorded call: makes the gradients of its inputs from those of its outputs. Thread-safe where it is shared by graphs.
class Node : public std::enable_shared_from_this<Node> {
 public:
  Node();
  virtual ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// "ExpBackward0", "AccumulateGrad".
  virtual std::string name() const = 0;
  /// One for each tensor input, in order.
  const std::vector<Edge>& next_edges() const { return edges_; }
  /// Counts the nodes of a thread in the order made; backward runs the latest first. What accumulates has the largest number.
  uint64_t sequence_nr() const { return sequence_nr_; }
  /// The length of the longest way from here to a node without edges.
  uint64_t topological_nr() const { return topological_nr_; }
  /// The line of the recorded call; empty where there is none.
  SourceLocation source() const { return source_; }

  /// Runs in the order registered, where the node is executed, just before it; what it gives in place of the gradients must keep their
  /// sizes and dtypes. PyTorch: torch.autograd.graph.Node.register_prehook.
  HookHandle register_prehook(NodePrehook hook);
  /// Likewise after it. PyTorch: torch.autograd.graph.Node.register_hook.
  HookHandle register_hook(NodeHook hook);

  /// The gradients of the inputs, one for each edge; those that are not needed may be undefined. `gradients` has one for each output;
  /// undefined where there is none.
  virtual std::vector<Tensor> apply(std::vector<Tensor> gradients, const NodeRun& run) = 0;
  virtual size_t output_count() const = 0;
  /// Drops what was saved; apply() is an error afterwards.
  virtual void release_saved() {}
  /// The leaf into whose gradient the node adds; null for any other node.
  virtual const Tensor* accumulates_into() const { return nullptr; }
  /// Whether it is a custom function's: it is run though no gradient has arrived, and gives what it likes.
  virtual bool is_custom() const { return false; }
  /// Whether the last input's gradient is handed on first, as where PyTorch's node has its inputs in another order.
  virtual bool gives_last_first() const { return false; }
  /// Of the graph from here to the leaves: operators, constants, dtypes, numbers of dimensions and edges, not sizes. Graphs of different hashes
  /// are different; what else they must have in common to be one is for whoever compares them.
  uint64_t structure_hash() const { return structure_hash_; }

  /// The hooks on the node and on the gradients of its outputs, made when there are none.
  struct Hooks;
  Hooks& hooks();
  Hooks* existing_hooks() const { return hooks_.load(std::memory_order_acquire); }

 protected:
  void add_edge(Edge edge);
  void reserve_edges(size_t count) { edges_.reserve(count); }
  void set_sequence_nr(uint64_t number) { sequence_nr_ = number; }
  void set_source(SourceLocation source) { source_ = source; }
  /// What the node does, for structure_hash().
  void add_to_hash(uint64_t word) {
    structure_hash_ = (structure_hash_ ^ word) * 0x9e3779b97f4a7c15u;
    structure_hash_ ^= structure_hash_ >> 32;
  }

 private:
  friend class BackwardRun;
  void give_edges_to(std::vector<std::shared_ptr<Node>>& pending);
  std::vector<Edge> edges_;
  uint64_t sequence_nr_;
  uint64_t topological_nr_ = 0;
  uint64_t structure_hash_ = 0;
  SourceLocation source_;
  std::atomic<Hooks*> hooks_{nullptr};
  // The backward that has the node at the moment, and the node's place there.
  std::atomic<const BackwardRun*> run_{nullptr};
  uint32_t place_ = 0;
};

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
