#pragma once
#include "autograd/eager_function.h"
#include "autograd/tensor_autograd.h"

namespace fulgurite {

/// A recorded call of one operator in eager mode.
class EagerNode final : public Node {
 public:
  EagerNode(std::shared_ptr<EagerFunction>, std::span<const Tensor* const> inputs, std::span<const Tensor> outputs, SourceLocation at);

  std::string name() const override { return function_->node_name(); }
  size_t output_count() const override { return function_->output_count(); }
  std::vector<Tensor> apply(std::vector<Tensor> gradients, const NodeRun& run) override;
  void release_saved() override;
  bool gives_last_first() const override { return function_->gives_last_first(); }
  /// Of y.mul_(x): the node of y * x keeps y as it was before the write.
  void keep_elements_of(const Storage&);

 private:
  std::shared_ptr<EagerFunction> function_;
  SmallVector<SavedTensor, 3> saved_;
  bool is_released_ = false;
};

}  // namespace fulgurite
