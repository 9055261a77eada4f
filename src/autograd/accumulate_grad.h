#pragma once
#include "autograd/tensor_autograd.h"

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
bool is_ours_alone(const Tensor& gradient);
/// Adds a gradient to a tensor's grad(), as backward() does at a leaf.
void accumulate_gradient(const Tensor& variable, Tensor gradient, bool create_graph);

}  // namespace fulgurite
