#include "support/gradcheck.h"

#include <cmath>

#include <fulgurite/autograd.h>

namespace fulgurite::test {

namespace {

// Weights that are the same for every evaluation and not alike.
Tensor weights_like(const Tensor& t, int salt) {
  std::vector<double> weights(static_cast<size_t>(static_cast<int64_t>(t.numel())));
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = std::sin(0.7 * static_cast<double>(i) + salt) + 0.1;
  const Tensor flat = tensor(weights);
  return flat.reshape(t.shape());
}

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
  const std::vector<Tensor> leaves = fresh_leaves(inputs);
  const std::vector<Tensor> gradients = analytic(function, leaves, false);
  size_t which = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].requires_grad()) continue;
    const Tensor gradient = gradients[which++];
    if (gradient.defined() && !(gradient.shape() == inputs[i].shape() && gradient.dtype() == inputs[i].dtype()))
      return std::string(order) + "-order gradient of input " + std::to_string(i) + " is of shape " +
             gradient.shape().text() + ", the input " + inputs[i].shape().text();
    const std::vector<double> ours =
        gradient.defined() ? gradient.contiguous().to_vector<double>()
                           : std::vector<double>(static_cast<size_t>(static_cast<int64_t>(inputs[i].numel())));
    for (size_t element = 0; element < ours.size(); ++element) {
      const double step = 1e-6;
      const auto moved = [&](double by) {
        std::vector<Tensor> shifted = fresh_leaves(inputs);
        std::vector<double> values = shifted[i].detach().contiguous().to_vector<double>();
        values[element] += by;
        const Tensor changed = tensor(values).reshape(inputs[i].shape());
        shifted[i] = changed.requires_grad_();
        return weighted_sum(function(shifted)).item<double>();
      };
      const double numeric = (moved(step) - moved(-step)) / (2 * step);
      if (std::fabs(numeric - ours[element]) > 1e-5 + 1e-4 * std::fabs(numeric))
        return std::string(order) + "-order gradient of input " + std::to_string(i) + ", element " +
               std::to_string(element) + ": " + std::to_string(ours[element]) + ", by differences " +
               std::to_string(numeric);
    }
  }
  return "";
}

}  // namespace

std::string gradcheck(const TensorFunction& function, const std::vector<Tensor>& inputs, bool second_order) {
  const std::string first = compare(function, inputs, "first");
  if (!first.empty() || !second_order) return first;
  const TensorFunction gradient_function = [&](const std::vector<Tensor>& leaves) {
    std::vector<Tensor> gradients = analytic(function, leaves, true);
    std::erase_if(gradients, [](const Tensor& g) { return !g.defined(); });
    return gradients;
  };
  return compare(gradient_function, inputs, "second");
}

}  // namespace fulgurite::test
