#pragma once
#include "autograd/engine/tensor_autograd.h"
#include "support/containers/small_vector.h"

namespace fulgurite {

/// Runs the hooks on the gradients of a node's outputs, then hands them to the tensors that retain theirs. `hooks` may be null. Hooks see
/// values: what one keeps is not changed by what comes after it.
void run_tensor_hooks(const Node&, Node::Hooks* hooks, SmallVector<Tensor, 1>& gradients);
/// The hooks on the gradient of one of the node's outputs; of a leaf where the node accumulates into one.
std::vector<Hook> hooks_of_output(const Node&, size_t output);
/// How many tensors retain the gradient of an output.
size_t count_retaining(const Node&, size_t output);
/// Runs one of them; checks what it gives.
void run_hook(const Hook&, Tensor& gradient);
/// Adds a gradient to those of the tensors that retain that of the output.
void hand_to_retaining(const Node&, size_t output, const Tensor& gradient);
/// Runs the hooks before the node on the gradients of its outputs. Gives those gradients again where hooks after the node will see them.
std::vector<Tensor> run_before(const Node&, std::vector<Tensor>& gradients);
/// Runs the hooks after the node on the gradients of its inputs.
void run_after(const Node&, std::vector<Tensor>& of_inputs, const std::vector<Tensor>& of_outputs);

}  // namespace fulgurite
