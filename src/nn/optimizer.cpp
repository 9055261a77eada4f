#include <algorithm>

#include <fulgurite/autograd.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>
#include <fulgurite/optim.h>

#include "support/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::optim {

Optimizer::~Optimizer() = default;

void Optimizer::add_group(double learning_rate) {
  learning_rates_.push_back(full({}, learning_rate, {.dtype = Dtype::f32}));
  learning_rates_.back().set_name(text::cat("learning_rate_", learning_rates_.size() - 1));
}

void Optimizer::add_parameter(const Tensor& value, std::initializer_list<StateSpec> state) {
  if (!value.defined() || !is_floating(value.dtype()) || !value.is_leaf())
    throw UserError(text::cat("an optimizer takes floating leaf tensors, not ", type_text(value)));
  for (const Parameter& known : parameters_)
    if (known.value.is_same(value))
      throw UserError(text::cat("the parameter ", type_text(value), " was given to the optimizer twice"));
  Parameter parameter;
  parameter.value = value;
  parameter.group = learning_rates_.size() - 1;
  for (const StateSpec& spec : state) {
    const Tensor zero =
        spec.like_parameter ? zeros(Dims(value.shape()), {.dtype = value.dtype()}) : zeros({}, {.dtype = Dtype::f32});
    zero.set_name(text::cat(spec.name, "_", parameters_.size()));
    parameter.state.emplace_back(spec.name, zero);
  }
  parameters_.push_back(std::move(parameter));
}

void Optimizer::step(SourceLocation at) {
  const NoGrad no_grad;
  for (const Parameter& parameter : parameters_)
    if (const Tensor gradient = parameter.value.grad(); gradient.defined()) update(parameter, gradient, at);
}

void Optimizer::step(const std::vector<Tensor>& gradients, SourceLocation at) {
  if (gradients.size() != parameters_.size())
    throw UserError(text::cat("step() got ", gradients.size(), " gradients for ", parameters_.size(), " parameters"),
                    at);
  const NoGrad no_grad;
  for (size_t i = 0; i < gradients.size(); ++i)
    if (gradients[i].defined()) update(parameters_[i], gradients[i], at);
}

void Optimizer::step(const std::vector<Tensor>& parameters, const std::vector<Tensor>& gradients, SourceLocation at) {
  if (gradients.size() != parameters.size())
    throw UserError(text::cat("step() got ", gradients.size(), " gradients for ", parameters.size(), " parameters"),
                    at);
  std::vector<Tensor> ordered(parameters_.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto found = std::find_if(parameters_.begin(), parameters_.end(),
                                    [&](const Parameter& known) { return known.value.is_same(parameters[i]); });
    if (found == parameters_.end())
      throw UserError(text::cat("step(): tensor ", i, " is not a parameter of this optimizer"), at);
    ordered[static_cast<size_t>(found - parameters_.begin())] = gradients[i];
  }
  step(ordered, at);
}

void Optimizer::zero_grad(bool set_to_none) {
  const NoGrad no_grad;
  for (const Parameter& parameter : parameters_) {
    if (set_to_none) parameter.value.set_grad({});
    else if (const Tensor gradient = parameter.value.grad(); gradient.defined()) zero_(gradient);
  }
}

std::vector<Tensor> Optimizer::parameters() const {
  std::vector<Tensor> out;
  for (const Parameter& parameter : parameters_) out.push_back(parameter.value);
  return out;
}

double Optimizer::learning_rate(size_t group) const {
  if (group >= learning_rates_.size()) throw UserError(text::cat("there is no group ", group));
  return learning_rates_[group].item<double>();
}

void Optimizer::set_learning_rate(size_t group, double rate) {
  if (group >= learning_rates_.size()) throw UserError(text::cat("there is no group ", group));
  fill_(learning_rates_[group], rate);
}

void Optimizer::set_learning_rate(double rate) {
  for (const Tensor& group : learning_rates_) fill_(group, rate);
}

std::vector<std::pair<std::string, Tensor>> Optimizer::named_state() const {
  std::vector<std::pair<std::string, Tensor>> out;
  for (size_t i = 0; i < parameters_.size(); ++i)
    for (const auto& [name, tensor] : parameters_[i].state) out.emplace_back(text::cat(i, ".", name), tensor);
  for (size_t i = 0; i < learning_rates_.size(); ++i)
    out.emplace_back(text::cat("groups.", i, ".lr"), learning_rates_[i]);
  return out;
}

std::map<std::string, Tensor> Optimizer::state_dict() const {
  std::map<std::string, Tensor> out;
  for (auto& [name, tensor] : named_state()) out.emplace(name, tensor);
  return out;
}

void Optimizer::load_state_dict(const std::map<std::string, Tensor>& state, SourceLocation at) {
  const auto mine = named_state();
  for (const auto& [name, tensor] : mine) {
    const auto found = state.find(name);
    if (found == state.end()) throw UserError(text::cat("optimizer state ", name, " is missing"), at);
    if (!found->second.defined() || !(found->second.shape() == tensor.shape()))
      throw UserError(
          text::cat("optimizer state ", name, " is ", type_text(found->second), " instead of ", type_text(tensor)), at);
  }
  for (const auto& [name, tensor] : state) {
    const bool is_known =
        std::any_of(mine.begin(), mine.end(), [&, &name = name](const auto& known) { return known.first == name; });
    if (!is_known) throw UserError(text::cat("optimizer state ", name, " is unknown"), at);
  }
  const NoGrad no_grad;
  for (const auto& [name, tensor] : mine) copy_(tensor, state.at(name), at);
}

}  // namespace fulgurite::optim
