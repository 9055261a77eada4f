#pragma once
#include "autograd/engine/tensor_autograd.h"

namespace fulgurite {

/// Accumulates arriving gradients into a leaf's grad(). Holds the leaf; the leaf refers to it weakly.
class AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(Tensor variable);
  std::string name() const override { return "AccumulateGrad"; }
  std::vector<Tensor> apply(std::vector<Tensor> gradients, const NodeRun& run) override;
  size_t output_count() const override { return 1; }
  const Tensor* accumulates_into() const override { return &variable_; }

 private:
  Tensor variable_;
};

/// Returns true if the tensor's storage is uniquely owned: it may become a leaf's gradient without a copy, or be
/// overwritten with a sum.
bool is_uniquely_owned(const Tensor& gradient);
/// Adds a gradient to a tensor's grad(), as backward() does at a leaf.
void accumulate_gradient(const Tensor& variable, Tensor gradient, bool create_graph);
/// The same, one thread at a time; does nothing if the gradient is undefined.
void accumulate_in_turn(const Tensor& variable, Tensor gradient, bool create_graph);
/// The hooks that run after a gradient was accumulated into a leaf.
std::vector<std::function<void(Tensor)>> post_accumulate_hooks(const Tensor& variable);

}  // namespace fulgurite
