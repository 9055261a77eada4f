#pragma once
#include "autograd/engine/tensor_autograd.h"
#include "support/containers/small_vector.h"

namespace fulgurite {

/// Runs the hooks on the gradients of a node's outputs, then passes them to the tensors that retain theirs. `hooks` may
/// be null. Hooks get values: later changes do not affect a gradient that a hook has stored.
void run_tensor_hooks(const Node&, Node::Hooks* hooks, SmallVector<Tensor, 1>& gradients);
/// The hooks on the gradient of one of the node's outputs; a leaf's if the node accumulates into one.
std::vector<Hook> hooks_of_output(const Node&, size_t output);
/// The number of tensors that retain the gradient of an output.
size_t count_retaining(const Node&, size_t output);
/// Runs one hook and checks its result.
void run_hook(const Hook&, Tensor& gradient);
/// Adds a gradient to the tensors that retain the output's.
void hand_to_retaining(const Node&, size_t output, const Tensor& gradient);
/// Runs the pre-hooks on the gradients of the node's outputs. Returns these gradients if post-hooks need them, else
/// none.
std::vector<Tensor> run_before(const Node&, std::vector<Tensor>& gradients);
/// Runs the post-hooks on the gradients of the node's inputs.
void run_after(const Node&, std::vector<Tensor>& of_inputs, const std::vector<Tensor>& of_outputs);

}  // namespace fulgurite
