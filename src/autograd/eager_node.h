#pragma once
#include <optional>

#include "autograd/eager_function.h"
#include "autograd/tensor_autograd.h"
#include "autograd/traced_node.h"

namespace fulgurite {

/// A recorded call of one operator in eager mode.
class EagerNode final : public TracedNode {
 public:
  EagerNode(std::shared_ptr<EagerFunction>, std::span<const Tensor* const> inputs, std::span<const Tensor> outputs, SourceLocation at);

  std::string name() const override { return function_->node_name(); }
  size_t output_count() const override { return function_->output_count(); }
  std::vector<Tensor> apply(std::vector<Tensor> gradients, const NodeRun& run) override;
  void release_saved() override;
  void append_saved(std::vector<Tensor>& saved, bool create_graph) override;
  std::vector<Tensor> record(std::span<const Tensor> saved, std::vector<Tensor> gradients, const NodeRun&, std::span<const Int> sizes) override;
  const void* formula() const override { return function_.get(); }
  std::shared_ptr<const void> share_formula() const override { return function_; }
  bool append_structure(KeyWords& words, std::vector<int64_t>& sizes) const override;
  bool gives_last_first() const override { return function_->gives_last_first(); }
  /// Of y.mul_(x): the node of y * x keeps y as it was before the write.
  void keep_elements_of(const Storage&);

 private:
  /// Fills in zeros for gradients that are missing; gives the backward for those there are.
  const EagerFunction::Backward& choose_backward(std::vector<Tensor>& gradients, uint64_t needed);
  /// The same with symbols for sizes; nothing where that cannot be recorded.
  std::optional<std::vector<Tensor>> record_with_symbols(std::span<const Tensor> saved, const std::vector<Tensor>& gradients, uint64_t needed,
                                                         std::span<const Int> sizes);
  /// Of the gradients that a backward gives, one for each edge.
  std::vector<Tensor> by_edge(std::vector<Tensor> results) const;
  std::shared_ptr<EagerFunction> function_;
  SmallVector<SavedTensor, 3> saved_;
  bool is_released_ = false;
};

}  // namespace fulgurite
