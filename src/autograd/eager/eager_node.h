#pragma once
#include <mutex>
#include <optional>

#include "autograd/compiled/traced_node.h"
#include "autograd/eager/eager_function.h"
#include "autograd/engine/tensor_autograd.h"

namespace fulgurite {

/// A recorded call of one operator in eager mode.
class EagerNode final : public TracedNode {
 public:
  /// `structure_hash` is the call's contribution to structure_hash().
  EagerNode(EagerCall, uint64_t structure_hash, std::span<const Tensor* const> inputs, std::span<const Tensor> outputs,
            SourceLocation at);

  std::string name() const override { return function_->node_name(); }
  size_t output_count() const override { return function_->output_count(); }
  std::vector<Tensor> apply(std::vector<Tensor> gradients, const NodeRun& run) override;
  void release_saved() override;
  void append_saved(std::vector<Tensor>& saved, bool create_graph) override;
  std::vector<Tensor> record(std::span<const Tensor> saved, std::vector<Tensor> gradients, const NodeRun&,
                             std::span<const Int> sizes) override;
  const void* formula() const override { return &exact(); }
  std::shared_ptr<const void> share_formula() const override { return exact_function(); }
  bool append_structure(KeyWords& words, std::vector<int64_t>& sizes) const override;
  bool reverse_edges() const override { return function_->reverse_edges(); }
  /// For y.mul_(x): the node of y * x keeps y's elements from before the write.
  void keep_elements_of(const Storage&) override;

 private:
  /// The function of this call's sizes and scalars alone, created if the call's function serves many.
  const std::shared_ptr<EagerFunction>& exact_function() const;
  EagerFunction& exact() const { return *exact_function(); }
  /// The saved tensor at the function's `position`.
  const SavedTensor& saved(const EagerFunction&, int position) const;
  /// The gradients, if the function serves many sizes; nullopt if these values need their own.
  std::optional<std::vector<Tensor>> run_formula(const std::vector<Tensor>& gradients, uint64_t needed) const;
  /// Fills missing gradients with zeros; returns the backward for those that are defined.
  const EagerFunction::Backward& choose_backward(std::vector<Tensor>& gradients, uint64_t needed);
  /// The same with symbols for sizes; nullopt if that cannot be recorded.
  std::optional<std::vector<Tensor>> record_with_symbols(std::span<const Tensor> saved,
                                                         const std::vector<Tensor>& gradients, uint64_t needed,
                                                         std::span<const Int> sizes);
  /// Reorders a backward's gradients to one for each edge.
  std::vector<Tensor> by_edge(std::vector<Tensor> results) const;
  std::shared_ptr<EagerFunction> function_;
  SmallVector<uint64_t, 8> values_;  // of the call, if its function serves many
  mutable std::once_flag exact_once_;
  mutable std::shared_ptr<EagerFunction> exact_;
  SmallVector<SavedTensor, 3> saved_;
  bool is_released_ = false;
};

}  // namespace fulgurite
