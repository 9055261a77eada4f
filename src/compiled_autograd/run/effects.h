#pragma once
#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <fulgurite/symbol.h>
#include <fulgurite/tensor.h>

#include "autograd/engine/tensor_autograd.h"
#include "autograd/hooks/finished_turns.h"
#include "compiled_autograd/backward_graph.h"
#include "executors/registry.h"
#include "ops/core/rules.h"

namespace fulgurite {

/// The custom functions' results that a gradient depends on: it is defined if one of them is, which is known only at
/// run time. Empty: always defined.
using Sources = std::vector<int>;

/// A side effect of a captured op that must happen at run time.
struct BackwardEffect {
  enum class Kind : uint8_t {
    tensor_hook,
    retain_grad,
    before_node,
    call_backward,
    accumulate_grad,
    post_accumulate_hook,
    after_node,
    final_callbacks
  };
  Kind kind = Kind::tensor_hook;
  int call = 0;       // the call whose turn it is
  size_t output = 0;  // of the node, if it concerns one
  size_t hook = 0;    // of the output's hooks, or the leaf's
  /// A gradient among the op's arguments, if it is one.
  struct GradientRef {
    bool is_given = false;
    Sources sources = {};
  };
  std::vector<GradientRef> of_outputs = {}, of_inputs = {};  // gradients of the node's outputs, of its inputs
  int first_source = 0;                                      // of a custom function's results
  // A result, by its index among the gradients at the start or the end of the node's turn.
  struct Result {
    size_t position;
    TensorType type;
  };
  std::vector<Result> results = {};
};

/// The symbol of ops with this effect; they are run by the innermost CompiledRun of the thread.
const Symbol& symbol_of(BackwardEffect::Kind);
const Implementation& implementation_of(BackwardEffect::Kind);

/// The index of an op's effect; -1 for any other op.
int effect_of(const BoundSymbol&);
/// Returns true if the effect calls user code, which may write tensors.
bool calls_user(BackwardEffect::Kind);

/// Ends a captured run in which a hook added or removed hooks that the captured program cannot follow.
struct LeftCapture {
  std::string reason;
  SourceLocation source;
};

/// A run of a captured backward: binds its effects to the nodes of this graph. `inputs` are its gathered inputs.
///
/// If a hook writes a tensor that a later node saved, the run ends at that node's turn with the engine's error. If a
/// hook adds the first hook of a gradient, the run ends after the turn with LeftCapture.
class CompiledRun {
 public:
  CompiledRun(const BackwardCall&, const BackwardGraph&, const std::vector<Tensor>& inputs,
              const std::vector<BackwardEffect>&);
  CompiledRun(const CompiledRun&) = delete;
  CompiledRun& operator=(const CompiledRun&) = delete;

  /// Runs an effect on the tensors of its op and returns its results.
  std::vector<Tensor> run(size_t effect, std::vector<Tensor> arguments);
  /// Returns true if the effect accumulates a gradient into a leaf; the second function does it.
  bool accumulates(size_t effect) const;
  void accumulate(size_t effect, const Tensor& gradient);
  /// Returns true if the gradient is defined.
  bool is_there(const Sources&) const;
  /// The call whose turn it is: of the running or the last effect.
  int turn() const { return turn_; }
  /// To be called when all ops have run.
  void finish() { begin_turn(static_cast<int>(graph_.calls.size()), true); }
  /// The turns before the run was left.
  FinishedTurns finished_turns() &&;

 private:
  std::vector<Tensor> call(size_t effect, std::vector<Tensor> arguments);
  std::vector<Tensor> chosen(std::vector<Tensor> found, const BackwardEffect&);
  void begin_turn(int call, bool before_node);
  void find_writes(int first_call);
  const BackwardCall& call_;
  const BackwardGraph& graph_;
  const std::vector<BackwardEffect>& effects_;
  /// Returns the hooks that an op calls: one, and for the last op of a list also those added to the list since. `list`
  /// holds the hooks at the time its first op ran, because a hook may have changed them before.
  template <class F>
  std::span<const F> take_hooks(std::vector<F>& list, size_t effect,
                                std::vector<F> (*find)(const Node&, size_t output));
  bool is_last_of_list(size_t effect) const;
  bool has_op(BackwardEffect::Kind, size_t call, size_t output) const;
  bool misses_node_hooks(size_t call) const;
  void check_changed_hooks(int first_call);
  void leave(const char* change, size_t call);
  void log_tensor_hooks(const BackwardEffect&, const Tensor& gradient, bool is_changed);
  std::vector<size_t> count_hooks() const;
  std::vector<Hook> tensor_hooks_;
  std::vector<std::function<void(Tensor)>> post_accumulate_hooks_;
  uint64_t hook_changes_;  // when the lists were last looked at
  bool calls_hooks_ = false;
  std::vector<size_t> hooks_at_start_;  // of each output of each call, where hooks are called
  std::vector<char> came_;              // by source
  int turn_ = 0;
  // If hooks are called: the calls' saved tensors, in order, and the first call whose saved tensor was written since.
  struct Saved {
    const std::atomic<uint32_t>* version;
    uint32_t seen;
    int call;
  };
  std::vector<Saved> saved_;
  int first_written_;
  FinishedTurns finished_;  // where hooks changed a gradient
  std::optional<LeftCapture> leaves_;
};

}  // namespace fulgurite
