#pragma once
#include "autograd/engine/saved_tensor.h"
#include "autograd/engine/tensor_autograd.h"
#include "autograd/functions/function_state.h"

namespace fulgurite {

/// A recorded call of a custom function, and the state of its Context.
class FunctionNode final : public Node, public FunctionState {
 public:
  FunctionNode(detail::CustomFunction function, const std::vector<Tensor>& inputs, SourceLocation at);

  std::string name() const override { return node_name; }
  size_t output_count() const override { return outputs.size(); }
  bool is_custom() const override { return true; }
  const FunctionNode* as_function() const override { return this; }
  std::vector<Tensor> apply(std::vector<Tensor> gradients, const NodeRun& run) override;
  void release_saved() override;
  std::vector<Tensor> saved_tensors() const override;

  /// Ends the forward: binds saved tensors to inputs and results, and gives each result its history if any input has
  /// one.
  void finish(const std::vector<Tensor>& inputs, std::vector<Tensor>& results);

 private:
  void give_history(const std::vector<Tensor>& inputs, std::vector<Tensor>& results);
  bool is_released_ = false, is_finished_ = false;
  std::vector<SavedTensor> saved_;
};

}  // namespace fulgurite
