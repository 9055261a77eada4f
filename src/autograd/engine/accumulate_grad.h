#pragma once
#include "autograd/engine/tensor_autograd.h"

namespace fulgurite {

/// Adds what arrives to a leaf's grad(). Holds the leaf; the leaf refers to it weakly.
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

/// Whether nobody else can see the tensor's elements: then it may become a leaf's gradient as it is, or be written over with a sum.
bool is_uniquely_owned(const Tensor& gradient);
/// Adds a gradient to a tensor's grad(), as backward() does at a leaf.
void accumulate_gradient(const Tensor& variable, Tensor gradient, bool create_graph);
/// The same, one thread at a time; nothing where the gradient is undefined.
void accumulate_in_turn(const Tensor& variable, Tensor gradient, bool create_graph);
/// What runs after a gradient was added to a leaf's.
std::vector<std::function<void(Tensor)>> post_accumulate_hooks(const Tensor& variable);

}  // namespace fulgurite
