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

/// Normalizes a hook's return value: Replaced, std::optional<Replaced>, std::nullopt or void.
template <class Replaced, class F, class... Args>
std::optional<Replaced> hook_result(F& hook, const Args&... arguments) {
  using Result = std::invoke_result_t<F&, const Args&...>;
  if constexpr (std::is_void_v<Result> || std::is_same_v<Result, std::nullopt_t>) {
    hook(arguments...);
    return std::nullopt;
  } else if constexpr (std::is_convertible_v<Result, std::optional<Replaced>>) {
    return hook(arguments...);
  } else {
    static_assert(std::is_void_v<Result>,
                  "a hook returns what replaces its argument, a std::optional of it, std::nullopt or nothing");
  }
}

}  // namespace detail

/// A hook on a gradient. A callable that accepts a Tensor and returns its replacement (Tensor, std::optional<Tensor>),
/// or std::nullopt or nothing to leave the gradient unchanged.
class Hook {
 public:
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, Hook> && std::invocable<F&, const Tensor&>)
      Hook(F hook, std::shared_ptr<const void> recorded_as = {})
      : run_([hook = std::move(hook)](const Tensor& gradient) mutable {
          return detail::hook_result<Tensor>(hook, gradient).value_or(Tensor());
        }),
        recorded_as_(std::move(recorded_as)) {}

  /// Returns the replacement; undefined: unchanged.
  Tensor operator()(const Tensor& gradient) const { return run_(gradient); }
  /// For hooks that captured backwards record (autograd::traceable): the identity shared by hooks that record the same.
  /// Null: it is called.
  const std::shared_ptr<const void>& recorded_as() const { return recorded_as_; }

 private:
  std::function<Tensor(const Tensor&)> run_;
  std::shared_ptr<const void> recorded_as_;
};

/// A hook before a node, on the gradients of its outputs. A callable that accepts a std::vector<Tensor> and returns its
/// replacement, or std::nullopt or nothing.
class NodePrehook {
 public:
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, NodePrehook> && std::invocable<F&, const std::vector<Tensor>&>)
      NodePrehook(F hook)
      : run_([hook = std::move(hook)](const std::vector<Tensor>& gradients) mutable {
          return detail::hook_result<std::vector<Tensor>>(hook, gradients);
        }) {}
  std::optional<std::vector<Tensor>> operator()(const std::vector<Tensor>& gradients) const { return run_(gradients); }

 private:
  std::function<std::optional<std::vector<Tensor>>(const std::vector<Tensor>&)> run_;
};

/// A hook after a node, on the gradients of its inputs and on those of its outputs. A callable that accepts two
/// std::vector<Tensor> and returns a replacement for the inputs' gradients, or std::nullopt or nothing.
class NodeHook {
 public:
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, NodeHook> &&
           std::invocable<F&, const std::vector<Tensor>&, const std::vector<Tensor>&>) NodeHook(F hook)
      : run_([hook = std::move(hook)](const std::vector<Tensor>& of_inputs,
                                      const std::vector<Tensor>& of_outputs) mutable {
          return detail::hook_result<std::vector<Tensor>>(hook, of_inputs, of_outputs);
        }) {}
  std::optional<std::vector<Tensor>> operator()(const std::vector<Tensor>& of_inputs,
                                                const std::vector<Tensor>& of_outputs) const {
    return run_(of_inputs, of_outputs);
  }

 private:
  std::function<std::optional<std::vector<Tensor>>(const std::vector<Tensor>&, const std::vector<Tensor>&)> run_;
};

/// Removes a hook. Dropping the handle leaves the hook in place.
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
class FunctionNode;
class Node;
struct Storage;
class TracedNode;
/// An edge of the backward graph: a node, and the index of its output that the gradient belongs to. Without a node the
/// gradient is dropped.
struct Edge {
  std::shared_ptr<Node> node;
  int output = 0;
};

/// The options of a node's run.
struct NodeRun {
  bool create_graph = false;       // the computation is recorded for differentiation
  uint64_t needed = ~uint64_t{0};  // bit i: the gradient of input i is needed; from the 64th on it always is
  bool needs(size_t input) const { return input >= 64 || (needed >> input & 1) != 0; }
};

/// A recorded call: computes the gradients of its inputs from those of its outputs. Thread-safe if shared by graphs.
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
  /// Numbers the nodes of a thread in the order made; backward runs the latest first. Accumulating nodes have the
  /// largest number.
  uint64_t sequence_nr() const { return sequence_nr_; }
  /// The length of the longest path from here to a node without edges.
  uint64_t topological_nr() const { return topological_nr_; }
  /// The line of the recorded call; empty if there is none.
  SourceLocation source() const { return source_; }

  /// Registers a hook that runs just before the node is executed, in the order registered; its replacements must keep
  /// the gradients' sizes and dtypes. PyTorch: torch.autograd.graph.Node.register_prehook.
  HookHandle register_prehook(NodePrehook hook);
  /// The same after the node. PyTorch: torch.autograd.graph.Node.register_hook.
  HookHandle register_hook(NodeHook hook);

  /// Returns the gradients of the inputs, one for each edge; those that are not needed may be undefined. `gradients`
  /// has one for each output; undefined if there is none.
  virtual std::vector<Tensor> apply(std::vector<Tensor> gradients, const NodeRun& run) = 0;
  virtual size_t output_count() const = 0;
  /// Frees the saved tensors; apply() is an error afterwards.
  virtual void release_saved() {}
  /// The leaf into whose gradient the node accumulates; null for any other node.
  virtual const Tensor* accumulates_into() const { return nullptr; }
  /// True for custom functions: they run even if no gradient has arrived, and may return any gradients.
  virtual bool is_custom() const { return false; }
  /// True if the last input's gradient is propagated first, to match the order of PyTorch's node.
  virtual bool reverse_edges() const { return false; }
  /// The node as one whose backward can be recorded op by op; null for any other node.
  virtual TracedNode* as_traced() { return nullptr; }
  /// The node as a custom function's; null for any other node.
  virtual const FunctionNode* as_function() const { return nullptr; }
  /// Copies saved elements that the storage holds: a write is about to replace them.
  virtual void keep_elements_of(const Storage&) {}
  /// Hash of the graph from here to the leaves: operators, constants, dtypes, numbers of dimensions and edges, not
  /// sizes. Equal hashes do not imply equal graphs; callers must compare further.
  uint64_t structure_hash() const { return structure_hash_; }

  /// The hooks on the node and on the gradients of its outputs, created if there are none.
  struct Hooks;
  Hooks& hooks();
  Hooks* existing_hooks() const { return hooks_.load(std::memory_order_acquire); }

 protected:
  void add_edge(Edge edge);
  void reserve_edges(size_t count) { edges_.reserve(count); }
  void set_sequence_nr(uint64_t number) { sequence_nr_ = number; }
  void set_source(SourceLocation source) { source_ = source; }
  /// Adds the node's operation to structure_hash().
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
  // The backward that currently has the node, and the node's position there.
  std::atomic<const BackwardRun*> run_{nullptr};
  uint32_t place_ = 0;
};

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
