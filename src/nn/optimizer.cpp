#include <algorithm>

#include <fulgurite/autograd.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>
#include <fulgurite/optim.h>

#include "nn/optimizer_settings.h"
#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::optim {

namespace {

/// The dtype of a parameter's scalar state.
Dtype number_dtype(const Tensor& parameter) { return parameter.dtype() == Dtype::f64 ? Dtype::f64 : Dtype::f32; }

bool is_initial_rate(std::string_view name) { return name.ends_with(".initial_lr"); }
bool is_set_by_schedule(std::string_view name) {
  return is_initial_rate(name) || (name.starts_with("groups.") && name.ends_with(".momentum"));
}
bool is_more(std::string_view name) { return name.starts_with("more."); }
bool is_rate(std::string_view name) { return name.ends_with(".lr") || is_initial_rate(name); }

/// Throws unless `state` has exactly the wanted tensors.
void check_state(const std::vector<std::pair<std::string, Tensor>>& wanted, const std::map<std::string, Tensor>& state,
                 SourceLocation at) {
  for (const auto& [name, tensor] : wanted) {
    const auto found = state.find(name);
    if (found == state.end()) {
      if (is_set_by_schedule(name)) continue;  // of a checkpoint written without a schedule
      throw UserError(text::cat("optimizer state ", name, " is missing"), at);
    }
    if (!found->second.defined() || !(found->second.shape() == tensor.shape()))
      throw UserError(
          text::cat("optimizer state ", name, " is ", type_text(found->second), " instead of ", type_text(tensor)), at);
    if (is_rate(name)) check_rate(found->second.item<double>(at), "load_state_dict", name, at);
  }
  for (const auto& [name, tensor] : state) {
    const bool is_known =
        std::any_of(wanted.begin(), wanted.end(), [&, &name = name](const auto& known) { return known.first == name; });
    if (!is_known && !is_more(name)) throw UserError(text::cat("optimizer state ", name, " is unknown"), at);
  }
}

}  // namespace

Optimizer::~Optimizer() = default;

void Optimizer::add_group(double learning_rate) {
  groups_.emplace_back();
  groups_.back().learning_rate = full({}, learning_rate, {.dtype = Dtype::f32});
  groups_.back().given_rate = learning_rate;
  groups_.back().learning_rate.set_name(text::cat("learning_rate_", groups_.size() - 1));
}

void Optimizer::add_parameter(const Tensor& value, std::initializer_list<StateSpec> state) {
  if (!value.defined() || !is_floating(value.dtype()) || !value.is_leaf())
    throw UserError(text::cat("an optimizer takes floating leaf tensors, not ", type_text(value)));
  for (const Parameter& known : parameters_)
    if (known.value.is_same(value))
      throw UserError(text::cat("the parameter ", type_text(value), " was given to the optimizer twice"));
  Parameter parameter;
  parameter.value = value;
  parameter.group = groups_.size() - 1;
  Group& group = groups_.back();
  if (value.dtype() == Dtype::f64 && group.learning_rate.dtype() != Dtype::f64)
    group.learning_rate = full({}, group.given_rate, {.dtype = Dtype::f64}).set_name(group.learning_rate.name());
  parameters_.push_back(std::move(parameter));
  add_state(parameters_.size() - 1, state);
}

void Optimizer::add_state(size_t index, std::initializer_list<StateSpec> state) {
  Parameter& parameter = parameters_[index];
  for (const StateSpec& spec : state) {
    const Shape shape = spec.shape.value_or(spec.like_parameter ? parameter.value.shape() : Shape());
    const Dtype dtype = spec.like_parameter || spec.shape ? parameter.value.dtype() : number_dtype(parameter.value);
    const Tensor zero = zeros(Dims(shape), {.dtype = dtype});
    zero.set_name(text::cat(spec.name, "_", index));
    parameter.state.emplace_back(spec.name, zero);
  }
}

void Optimizer::prepare_momentum(size_t, SourceLocation at) {
  throw UserError("the optimizer has no momentum for a schedule to change; give the schedule cycle_momentum = false",
                  at);
}

void Optimizer::set_momentum(size_t group, double momentum, SourceLocation at) {
  Tensor& changed = groups_[group].momentum;
  if (!changed.defined()) {
    prepare_momentum(group, at);
    changed = zeros({}, {.dtype = Dtype::f64}).set_name(text::cat("momentum_", group));
  }
  fill_(changed, momentum, at);
}

void Optimizer::step(SourceLocation at) {
  const NoGrad no_grad;
  for (const Parameter& parameter : parameters_)
    if (const Tensor gradient = parameter.value.grad(at); gradient.defined()) update(parameter, gradient, at);
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
    if (set_to_none) parameter.value.set_grad({}, SourceLocation());
    else if (const Tensor gradient = parameter.value.grad({}); gradient.defined()) zero_(gradient, {});
  }
}

std::vector<Tensor> Optimizer::parameters() const {
  std::vector<Tensor> out;
  for (const Parameter& parameter : parameters_) out.push_back(parameter.value);
  return out;
}

std::vector<Tensor> Optimizer::parameters_of_group(size_t group) const {
  static_cast<void>(group_at(group));
  std::vector<Tensor> out;
  for (const Parameter& parameter : parameters_)
    if (parameter.group == group) out.push_back(parameter.value);
  return out;
}

const Optimizer::Group& Optimizer::group_at(size_t group) const {
  if (group >= groups_.size())
    throw UserError(text::cat("there is no group ", group, "; the optimizer has ", groups_.size()));
  return groups_[group];
}

double Optimizer::learning_rate(size_t group) const { return group_at(group).learning_rate.item<double>(); }

void Optimizer::set_learning_rate(size_t group, double rate, SourceLocation at) {
  const Group& changed = group_at(group);
  check_rate(rate, "set_learning_rate", "rate", at);
  fill_(changed.learning_rate, rate, at);
  if (changed.initial_learning_rate.defined()) fill_(changed.initial_learning_rate, rate, at);
}

void Optimizer::set_learning_rate(double rate, SourceLocation at) {
  for (size_t group = 0; group < groups_.size(); ++group) set_learning_rate(group, rate, at);
}

std::vector<std::pair<std::string, Tensor>> Optimizer::named_state() const {
  std::vector<std::pair<std::string, Tensor>> out;
  for (size_t i = 0; i < parameters_.size(); ++i)
    for (const auto& [name, tensor] : parameters_[i].state) out.emplace_back(text::cat(i, ".", name), tensor);
  for (size_t i = 0; i < groups_.size(); ++i) {
    out.emplace_back(text::cat("groups.", i, ".lr"), groups_[i].learning_rate);
    if (const Tensor& initial = groups_[i].initial_learning_rate; initial.defined())
      out.emplace_back(text::cat("groups.", i, ".initial_lr"), initial);
    if (groups_[i].momentum.defined()) out.emplace_back(text::cat("groups.", i, ".momentum"), groups_[i].momentum);
  }
  return out;
}

std::map<std::string, Tensor> Optimizer::state_dict() const {
  std::map<std::string, Tensor> out;
  for (auto& [name, tensor] : named_state()) out.emplace(name, tensor);
  for (auto& [name, tensor] : more_state()) out.emplace(name, tensor);
  return out;
}

void Optimizer::load_state_dict(const std::map<std::string, Tensor>& state, SourceLocation at) {
  const auto initial_rates_are_in = [&](size_t group) {
    return state.contains(text::cat("groups.", group, ".initial_lr"));
  };
  for (size_t i = 0; i < groups_.size(); ++i)
    if (state.contains(text::cat("groups.", i, ".momentum"))) set_momentum(i, 0, at);
  auto wanted = named_state();
  std::vector<Tensor> initial_rates(groups_.size());  // of groups that have none yet
  for (size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i].initial_learning_rate.defined() || !initial_rates_are_in(i)) continue;
    initial_rates[i] = zeros({}, {.dtype = Dtype::f64});
    wanted.emplace_back(text::cat("groups.", i, ".initial_lr"), initial_rates[i]);
  }
  check_state(wanted, state, at);
  const NoGrad no_grad;
  for (const auto& [name, tensor] : wanted)
    if (const auto found = state.find(name); found != state.end()) copy_(tensor, found->second, at);
  for (size_t i = 0; i < groups_.size(); ++i)
    if (initial_rates[i].defined()) groups_[i].initial_learning_rate = initial_rates[i];
  load_more_state(state, at);
}

}  // namespace fulgurite::optim
