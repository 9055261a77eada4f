#pragma once
#include <functional>
#include <string>
#include <vector>

#include <fulgurite/fulgurite.h>

namespace fulgurite::test {

/// A function of f64 tensors whose results are f64 tensors.
using TensorFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

/// Compares the gradients of a fixed weighting of `function`'s results with central differences, and, with
/// `second_order`, the gradients of those gradients too. Inputs are f64; those that require a gradient are checked.
/// Gives "" or what differs.
std::string gradcheck(const TensorFunction& function, const std::vector<Tensor>& inputs, bool second_order = true);

// Its parts.

/// The weights of result `position`: the same for every evaluation and not alike.
Tensor weights_like(const Tensor& result, int position);
/// For each input that requires a gradient, in order, the central differences of the weighted sum of `function`'s
/// results.
std::vector<std::vector<double>> central_differences(const TensorFunction& function, const std::vector<Tensor>& inputs);
/// "" or a gradient (undefined: zeros) that is not of its input's shape and dtype, or differs from the differences.
std::string compare_with_differences(const Tensor& gradient, const Tensor& input,
                                     const std::vector<double>& differences);

}  // namespace fulgurite::test
