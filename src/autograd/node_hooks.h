#pragma once
#include "autograd/tensor_autograd.h"
#include "support/small_vector.h"

namespace fulgurite {

/// Runs the hooks on the gradients of a node's outputs, then hands them to the tensors that retain theirs. `hooks` may be null. Hooks see
/// values: what one keeps is not changed by what comes after it.
void run_tensor_hooks(const Node&, Node::Hooks* hooks, SmallVector<Tensor, 1>& gradients);
/// Runs the hooks before the node on the gradients of its outputs. Gives those gradients again where hooks after the node will see them.
std::vector<Tensor> run_before(const Node&, std::vector<Tensor>& gradients);
/// Runs the hooks after the node on the gradients of its inputs.
void run_after(const Node&, std::vector<Tensor>& of_inputs, const std::vector<Tensor>& of_outputs);

}  // namespace fulgurite
