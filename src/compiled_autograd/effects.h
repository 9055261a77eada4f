#pragma once
#include <atomic>
#include <functional>
#include <span>
#include <vector>

#include <fulgurite/symbol.h>
#include <fulgurite/tensor.h>

#include "autograd/engine/tensor_autograd.h"
#include "compiled_autograd/backward_graph.h"
#include "executors/registry.h"
#include "ops/core/rules.h"

namespace fulgurite {

/// Which results of custom functions a gradient comes from: it is there when one of them is, which only a run can tell. Empty: it always is.
using Sources = std::vector<int>;

/// What a line of a captured backward does that only a run can do.
struct Effect {
  enum class Kind : uint8_t {
    tensor_hook, retain_grad, before_node, call_backward, accumulate_grad, post_accumulate_hook, after_node, final_callbacks
  };
  Kind kind = Kind::tensor_hook;
  int call = 0;        // whose turn it is
  size_t output = 0;   // of the node, where it is about one
  size_t hook = 0;     // of the output's hooks, or the leaf's
  /// A gradient among the line's arguments, if it is one.
  struct GradientRef {
    bool is_given = false;
    Sources sources = {};
  };
  std::vector<GradientRef> of_outputs = {}, of_inputs = {};  // gradients of the node's outputs, of its inputs
  int first_source = 0;                                // of what a custom function gives
  // What it gives, of the gradients that the node's turn ends or begins with.
  struct Result {
    size_t position;
    TensorType type;
  };
  std::vector<Result> results = {};
};

/// The symbol of such lines, and how they are run: by the innermost CompiledRun of the thread.
const Symbol& symbol_of(Effect::Kind);
const Implementation& implementation_of(Effect::Kind);

/// Which effect a line is; -1 for any other line.
int effect_of(const BoundSymbol&);
/// Whether it calls what a user wrote, which may write tensors.
bool calls_user(Effect::Kind);

/// A run of a captured backward: binds its effects to the nodes of this graph. `inputs` are its gathered inputs.
///
/// What a hook writes that a later node saved is found where that node's turn would be: there the run ends with the engine's error.
class CompiledRun {
 public:
  CompiledRun(const BackwardCall&, const BackwardGraph&, const std::vector<Tensor>& inputs, const std::vector<Effect>&);
  CompiledRun(const CompiledRun&) = delete;
  CompiledRun& operator=(const CompiledRun&) = delete;

  /// What the effect gives; `arguments` are the tensors of its line.
  std::vector<Tensor> run(size_t effect, std::vector<Tensor> arguments);
  /// Whether the effect is that a gradient is added to a leaf's, and doing it.
  bool accumulates(size_t effect) const;
  void accumulate(size_t effect, const Tensor& gradient);
  /// Whether a gradient has come.
  bool is_there(const Sources&) const;
  /// The call whose turn it is: of the effect that ran last, or runs.
  int turn() const { return turn_; }
  /// All has run.
  void finish() { begin_turn(static_cast<int>(graph_.calls.size()), true); }

 private:
  std::vector<Tensor> call(size_t effect, std::vector<Tensor> arguments);
  std::vector<Tensor> chosen(std::vector<Tensor> found, const Effect&);
  void begin_turn(int call, bool before_node);
  void find_writes(int first_call);
  const BackwardCall& call_;
  const BackwardGraph& graph_;
  const std::vector<Effect>& effects_;
  /// Returns the hooks that a line calls: one, and for the last line of a list those that were added to it as well. `list` holds the hooks as they
  /// were when the first line of their list ran, because a hook may have changed them before.
  template <class F>
  std::span<const F> take_hooks(std::vector<F>& list, size_t effect, std::vector<F> (*find)(const Node&, size_t output));
  bool is_last_of_list(size_t effect) const;
  void check_added_hooks(int first_call);
  std::vector<size_t> count_hooks() const;
  std::vector<Hook> tensor_hooks_;
  std::vector<std::function<void(Tensor)>> post_accumulate_hooks_;
  uint64_t hook_changes_;  // when the lists were last looked at
  std::vector<size_t> hooks_at_start_;  // of each output of each call, where hooks are called
  std::vector<char> came_;  // by source
  int turn_ = 0;
  // Where hooks are called, what the calls saved, in their order; and the first call that saved what was written since.
  struct Saved {
    const std::atomic<uint32_t>* version;
    uint32_t seen;
    int call;
  };
  std::vector<Saved> saved_;
  int first_written_;
};

}  // namespace fulgurite
