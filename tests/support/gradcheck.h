#pragma once
#include <functional>
#include <vector>

#include <fulgurite/fulgurite.h>

namespace fulgurite::test {

/// A function of f64 tensors whose results are f64 tensors.
using TensorFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

/// Compares the gradients of a random weighting of `function`'s results with central differences, and, with
/// `second_order`, the gradients of those gradients too. Inputs are f64; those that require a gradient are checked.
/// Gives "" or what differs.
std::string gradcheck(const TensorFunction& function, const std::vector<Tensor>& inputs, bool second_order = true);

}  // namespace fulgurite::test
