#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "autograd/checkpoint/outside_writes.h"
#include "autograd/engine/saved_tensor.h"
#include "ops/core/autocast.h"
#include "ops/core/rules.h"
#include "support/context.h"

namespace fulgurite {

/// One eager call of a checkpointed function. Tensors that the nodes inside would save are not saved: each is a slot of
/// this call. When backward first reads a slot, the function is recomputed on the same inputs with the same RNG states,
/// and the tensors which that run saves fill the slots. A slot is emptied once its node has read it, the rest when the
/// backward ends; a second backward recomputes the function once more.
///
/// Saved leaves are stored directly: the graph holds them anyway, and their versions can be checked. The inputs are
/// saved like a node's, so that in nested checkpoints the outer one recomputes them.
class CheckpointedCall : public std::enable_shared_from_this<CheckpointedCall> {
 public:
  using Run = std::function<void(const std::vector<Tensor>&)>;
  CheckpointedCall(const std::vector<Tensor>& inputs, Run run, SourceLocation at);

  /// The innermost call whose function runs on this thread; null outside.
  static CheckpointedCall* active();
  /// Assigns `saved` a slot; the second run fills it.
  void save(SavedTensor& saved, bool is_leaf);
  /// Moves the tensor out of a slot. `saved_by` is the node's name.
  Tensor take(size_t slot, const std::string& saved_by);
  void keep_elements_of(size_t slot, const Storage& storage);

  /// While alive, tensors saved on this thread belong to the call.
  class Scope {
   public:
    Scope(std::shared_ptr<CheckpointedCall>, bool recomputes);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    std::shared_ptr<CheckpointedCall> call_;
    bool recomputes_;
    CheckpointedCall* outer_;
    bool outer_recomputes_;
    RngScope draws_;
    std::optional<OutsideWrites::Recording> records_writes_;
    std::optional<OutsideWrites::Repetition> repeats_writes_;
  };

 private:
  void recompute();
  void check_recomputation(size_t limit) const;
  std::vector<Tensor> inputs_again() const;
  std::string type_text(size_t slot) const;

  struct SavedSlot {
    Sizes sizes;
    Dtype dtype = Dtype::f32;
    SavedTensor again;  // from the second run, until it is read
  };
  std::vector<SavedTensor> inputs_;
  std::vector<char> requires_grad_;
  Run run_;
  SourceLocation at_;
  const std::optional<Dtype> autocast_ = autocast_dtype();  // of the first run
  RngStates draws_, replayed_;
  OutsideWrites writes_;
  std::vector<SavedSlot> slots_;
  bool is_complete_ = false;  // the first run has ended
  bool is_recomputing_ = false;
  size_t saved_again_ = 0;  // in the second run, so far
  std::string difference_;  // the first one between the runs
};

}  // namespace fulgurite
