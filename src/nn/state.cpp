#include <algorithm>

#include <fulgurite/autograd.h>
#include <fulgurite/error.h>
#include <fulgurite/nn.h>

#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::nn::model_detail {

NamedTensors keep_parameters(NamedTensors all) {
  NamedTensors out;
  for (auto& [name, tensor] : all) {
    if (!tensor.defined() || !tensor.requires_grad()) continue;
    const bool is_known = std::any_of(out.begin(), out.end(),
                                      [&tensor = tensor](const auto& known) { return known.second.is_same(tensor); });
    if (!is_known) out.emplace_back(std::move(name), std::move(tensor));
  }
  return out;
}

void convert_in_place(const Tensor& tensor, Dtype dtype) {
  if (tensor.dtype() == dtype) return;
  const NoGrad no_grad;
  const Tensor gradient = tensor.grad();
  tensor.set_data(tensor.detach().to(dtype));
  if (gradient.defined()) tensor.set_grad(gradient.to(dtype));
}

std::map<std::string, Tensor> state_of(const NamedTensors& all) {
  std::map<std::string, Tensor> out;
  for (const auto& [name, tensor] : all)
    if (tensor.defined()) out.emplace(name, tensor.detach());
  return out;
}

LoadResult load_state(const NamedTensors& into, const std::map<std::string, Tensor>& from, bool strict,
                      SourceLocation at) {
  std::string problems;
  LoadResult result;
  const auto report = [&](const std::string& problem) { problems += problems.empty() ? problem : "; " + problem; };
  for (const auto& [name, tensor] : into) {
    if (!tensor.defined()) continue;
    const auto found = from.find(name);
    if (found == from.end()) {
      result.missing.push_back(name);
      if (strict) report(text::cat(name, " is missing"));
    } else if (!found->second.defined()) {
      report(text::cat(name, " is undefined"));
    } else if (!(found->second.shape() == tensor.shape())) {
      report(text::cat(name, " is ", type_text(found->second), ", the model has ", type_text(tensor)));
    }
  }
  for (const auto& [name, tensor] : from) {
    const bool is_known = std::any_of(into.begin(), into.end(), [&, &name = name](const auto& known) {
      return known.first == name && known.second.defined();
    });
    if (is_known) continue;
    result.unexpected.push_back(name);
    if (strict) report(text::cat(name, " is not part of the model"));
  }
  if (!problems.empty()) throw UserError("load_state_dict: " + problems, at);
  const NoGrad no_grad;
  for (const auto& [name, tensor] : into)
    if (const auto found = from.find(name); tensor.defined() && found != from.end()) copy_(tensor, found->second, at);
  return result;
}

}  // namespace fulgurite::nn::model_detail
