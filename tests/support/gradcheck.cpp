#include "support/gradcheck.h"

#include <cmath>

#include <fulgurite/autograd.h>

namespace fulgurite::test {

namespace {

Tensor weighted_sum(const std::vector<Tensor>& results) {
  Tensor total = zeros({}, {.dtype = Dtype::f64});
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined() || results[i].dtype() != Dtype::f64) continue;
    const Tensor weighted = results[i] * weights_like(results[i], static_cast<int>(i));
    const Tensor part = sum(weighted);
    total = total + part;
  }
  return total;
}

std::vector<Tensor> fresh_leaves(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> leaves;
  for (const Tensor& input : inputs) {
    const Tensor copy = input.detach().clone();
    leaves.push_back(input.requires_grad() ? copy.requires_grad_() : copy);
  }
  return leaves;
}

std::vector<Tensor> differentiable(const std::vector<Tensor>& leaves) {
  std::vector<Tensor> out;
  for (const Tensor& leaf : leaves)
    if (leaf.requires_grad()) out.push_back(leaf);
  return out;
}

std::vector<Tensor> analytic(const TensorFunction& function, const std::vector<Tensor>& leaves, bool create_graph) {
  const Tensor value = weighted_sum(function(leaves));
  if (!value.requires_grad()) return std::vector<Tensor>(differentiable(leaves).size());
  return autograd::grad({value}, differentiable(leaves), {},
                        {.retain_graph = create_graph, .create_graph = create_graph, .allow_unused = true});
}

std::string compare(const TensorFunction& function, const std::vector<Tensor>& inputs, const char* order) {
  const std::vector<Tensor> gradients = analytic(function, fresh_leaves(inputs), false);
  const std::vector<std::vector<double>> differences = central_differences(function, inputs);
  size_t which = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].requires_grad()) continue;
    const std::string wrong = compare_with_differences(gradients[which], inputs[i], differences[which]);
    if (!wrong.empty()) return std::string(order) + "-order gradient of input " + std::to_string(i) + wrong;
    ++which;
  }
  return "";
}

}  // namespace

Tensor weights_like(const Tensor& result, int position) {
  std::vector<double> weights(static_cast<size_t>(static_cast<int64_t>(result.numel())));
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = std::sin(0.7 * static_cast<double>(i) + position) + 0.1;
  const Tensor flat = tensor(weights);
  return flat.reshape(result.shape());
}

std::vector<std::vector<double>> central_differences(const TensorFunction& function,
                                                     const std::vector<Tensor>& inputs) {
  constexpr double step = 1e-6;
  std::vector<std::vector<double>> all;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].requires_grad()) continue;
    const auto value_at = [&](size_t element, double by) {
      std::vector<Tensor> shifted = fresh_leaves(inputs);
      std::vector<double> values = shifted[i].detach().contiguous().to_vector<double>();
      values[element] += by;
      const Tensor changed = tensor(values).reshape(inputs[i].shape());
      shifted[i] = changed.requires_grad_();
      return weighted_sum(function(shifted)).item<double>();
    };
    std::vector<double> differences(static_cast<size_t>(static_cast<int64_t>(inputs[i].numel())));
    for (size_t element = 0; element < differences.size(); ++element)
      differences[element] = (value_at(element, step) - value_at(element, -step)) / (2 * step);
    all.push_back(std::move(differences));
  }
  return all;
}

std::string compare_with_differences(const Tensor& gradient, const Tensor& input,
                                     const std::vector<double>& differences) {
  if (gradient.defined() && !(gradient.shape() == input.shape() && gradient.dtype() == input.dtype()))
    return " is of shape " + gradient.shape().text() + ", the input " + input.shape().text();
  const std::vector<double> ours =
      gradient.defined() ? gradient.contiguous().to_vector<double>() : std::vector<double>(differences.size());
  for (size_t element = 0; element < ours.size(); ++element) {
    const double numeric = differences[element];
    const bool is_near =
        std::isfinite(numeric) && std::fabs(numeric - ours[element]) <= 1e-5 + 1e-4 * std::fabs(numeric);
    if (!is_near && numeric != ours[element])
      return ", element " + std::to_string(element) + ": " + std::to_string(ours[element]) + ", by differences " +
             std::to_string(numeric);
  }
  return "";
}

std::string gradcheck(const TensorFunction& function, const std::vector<Tensor>& inputs, bool second_order) {
  std::string first = compare(function, inputs, "first");
  if (!first.empty() || !second_order) return first;
  const TensorFunction gradient_function = [&](const std::vector<Tensor>& leaves) {
    std::vector<Tensor> gradients = analytic(function, leaves, true);
    std::erase_if(gradients, [](const Tensor& g) { return !g.defined(); });
    return gradients;
  };
  return compare(gradient_function, inputs, "second");
}

}  // namespace fulgurite::test
