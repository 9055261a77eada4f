// Adam, AdamW and plain gradient descent: one step of one parameter.
#include <fulgurite/operators.h>
#include <fulgurite/optim.h>

#include "autograd/eager/execute_into.h"
#include "nn/optimizer_settings.h"
#include "ops/generated/symbols.h"

namespace fulgurite::optim {

namespace {

enum State : size_t { step_count, first_moment, second_moment, largest_second_moment };

struct AdamStep {
  double beta1, beta2, eps, weight_decay;
};

// One prims.adamw. In eager mode its kernel updates the parameter and the moments in place; in a trace the new values
// are written back.
void adam_step(const Tensor& parameter, const Tensor& gradient, const Tensor& count, const Tensor& first,
               const Tensor& second, const Tensor& learning_rate, const AdamStep& s, SourceLocation at) {
  const Tensor next_count = add(count, 1, 1, at);
  copy_(count, next_count, at);
  const Float beta1 = s.beta1, beta2 = s.beta2, eps = s.eps, weight_decay = s.weight_decay;
  const Argument arguments[] = {parameter,     gradient, first, second, next_count,
                                learning_rate, beta1,    beta2, eps,    weight_decay};
  const Tensor written[] = {parameter, first, second};
  if (execute_into(prims_adamw_symbol, arguments, written)) return;
  const auto [new_parameter, new_first, new_second] =
      prims::adamw(parameter, gradient, first, second, next_count, learning_rate, beta1, beta2, eps, weight_decay, at);
  copy_(parameter, new_parameter, at);
  copy_(first, new_first, at);
  copy_(second, new_second, at);
}

// The same by operators, with a first beta that a schedule changes and the largest second moment so far.
void composed_adam_step(const Tensor& parameter, const Tensor& gradient, const Tensor& count, const Tensor& first,
                        const Tensor& second, const Tensor& largest, const Tensor& learning_rate, const Tensor& beta1,
                        const AdamStep& s, SourceLocation at) {
  copy_(count, add(count, 1, 1, at), at);
  const Tensor steps = count.to(Dtype::f64, at);
  const Tensor power1 = pow(beta1, steps, at), power2 = pow(s.beta2, steps, at);
  const Tensor missing1 = sub(1.0, power1, 1, at), missing2 = sub(1.0, power2, 1, at);
  const Tensor share = sub(1.0, beta1, 1, at), kept = mul(first, beta1, at), added = mul(gradient, share, at);
  copy_(first, add(kept, added, 1, at), at);
  const Tensor squares = mul(second, s.beta2, at);
  copy_(second, addcmul(squares, gradient, gradient, 1 - s.beta2, at), at);
  if (largest.defined()) copy_(largest, maximum(largest, second, at), at);
  const Tensor root = sqrt(largest.defined() ? largest : second, at);
  const Tensor divisor = add(div(root, sqrt(missing2, at), {}, at), s.eps, 1, at);
  const Tensor rate = learning_rate.to(Dtype::f64, at);
  const Tensor lost = mul(rate, s.weight_decay, at), kept_share = sub(1.0, lost, 1, at);
  const Tensor shrunk = s.weight_decay != 0 ? mul(parameter, kept_share, at) : parameter;
  const Tensor length = div(rate, missing1, {}, at), course = div(first, divisor, {}, at);
  const Tensor change = mul(course, length, at);
  copy_(parameter, sub(shrunk, change, 1, at), at);
}

template <class Options>
Tensor signed_gradient(const Tensor& gradient, const Options& options, SourceLocation at) {
  return options.maximize ? neg(gradient, at) : gradient;
}

}  // namespace

AdamW::AdamW(const std::vector<Tensor>& parameters, const AdamWOptions& options, SourceLocation at)
    : AdamW(std::vector<ParameterGroup<AdamWOptions>>{{parameters, options}}, at) {}

AdamW::AdamW(const std::vector<ParameterGroup<AdamWOptions>>& groups, SourceLocation at) {
  for (const auto& group : groups) add_param_group(group, at);
}

void AdamW::add_param_group(const ParameterGroup<AdamWOptions>& group, SourceLocation at) {
  check_settings(group.options, at);
  options_.push_back(group.options);
  add_group(group.options.lr);
  for (const Tensor& parameter : group.parameters) {
    add_parameter(parameter, {{"step", false}, {"exp_avg", true}, {"exp_avg_sq", true}});
    if (group.options.amsgrad) add_state(parameter_count() - 1, {{"max_exp_avg_sq", true}});
  }
}

void AdamW::update(const Parameter& p, const Tensor& given, SourceLocation at) {
  const AdamWOptions& o = options_[p.group];
  const Tensor gradient = signed_gradient(given, o, at);
  const Tensor &rate = learning_rate_tensor(p.group), &beta1 = momentum_tensor(p.group);
  const AdamStep step{o.betas.first, o.betas.second, o.eps, o.weight_decay};
  if (o.amsgrad || beta1.defined())
    return composed_adam_step(p.value, gradient, p[step_count], p[first_moment], p[second_moment],
                              o.amsgrad ? p[largest_second_moment] : Tensor(), rate,
                              beta1.defined() ? beta1 : full({}, o.betas.first, {.dtype = Dtype::f64}, at), step, at);
  adam_step(p.value, gradient, p[step_count], p[first_moment], p[second_moment], rate, step, at);
}

void AdamW::prepare_momentum(size_t, SourceLocation) {}

Adam::Adam(const std::vector<Tensor>& parameters, const AdamOptions& options, SourceLocation at)
    : Adam(std::vector<ParameterGroup<AdamOptions>>{{parameters, options}}, at) {}

Adam::Adam(const std::vector<ParameterGroup<AdamOptions>>& groups, SourceLocation at) {
  for (const auto& group : groups) add_param_group(group, at);
}

void Adam::add_param_group(const ParameterGroup<AdamOptions>& group, SourceLocation at) {
  check_settings(group.options, at);
  options_.push_back(group.options);
  add_group(group.options.lr);
  for (const Tensor& parameter : group.parameters) {
    add_parameter(parameter, {{"step", false}, {"exp_avg", true}, {"exp_avg_sq", true}});
    if (group.options.amsgrad) add_state(parameter_count() - 1, {{"max_exp_avg_sq", true}});
  }
}

void Adam::update(const Parameter& p, const Tensor& given, SourceLocation at) {
  const AdamOptions& o = options_[p.group];
  Tensor gradient = signed_gradient(given, o, at);
  if (o.weight_decay != 0) gradient = add(gradient, p.value, o.weight_decay, at);
  const Tensor &rate = learning_rate_tensor(p.group), &beta1 = momentum_tensor(p.group);
  const AdamStep step{o.betas.first, o.betas.second, o.eps, 0};
  if (o.amsgrad || beta1.defined())
    return composed_adam_step(p.value, gradient, p[step_count], p[first_moment], p[second_moment],
                              o.amsgrad ? p[largest_second_moment] : Tensor(), rate,
                              beta1.defined() ? beta1 : full({}, o.betas.first, {.dtype = Dtype::f64}, at), step, at);
  adam_step(p.value, gradient, p[step_count], p[first_moment], p[second_moment], rate, step, at);
}

void Adam::prepare_momentum(size_t, SourceLocation) {}

SGD::SGD(const std::vector<Tensor>& parameters, const SGDOptions& options, SourceLocation at)
    : SGD(std::vector<ParameterGroup<SGDOptions>>{{parameters, options}}, at) {}

SGD::SGD(const std::vector<ParameterGroup<SGDOptions>>& groups, SourceLocation at) {
  for (const auto& group : groups) add_param_group(group, at);
}

void SGD::add_param_group(const ParameterGroup<SGDOptions>& group, SourceLocation at) {
  check_settings(group.options, at);
  options_.push_back(group.options);
  add_group(group.options.lr);
  for (const Tensor& parameter : group.parameters) {
    if (group.options.momentum == 0) add_parameter(parameter, {});
    else add_parameter(parameter, {{"momentum_buffer", true}, {"started", false}});
  }
}

void SGD::update(const Parameter& p, const Tensor& given, SourceLocation at) {
  const SGDOptions& o = options_[p.group];
  Tensor gradient = signed_gradient(given, o, at);
  if (o.weight_decay != 0) gradient = add(gradient, p.value, o.weight_decay, at);
  const Tensor& scheduled = momentum_tensor(p.group);
  if (o.momentum != 0 || scheduled.defined()) {
    const Operand rate = scheduled.defined() ? Operand(scheduled) : Operand(o.momentum);
    const Tensor &buffer = p[0], &started = p[1];
    Tensor added = gradient;
    if (o.dampening != 0) {  // the first step is not dampened
      const Tensor dampening = mul(started, o.dampening, at);
      const Tensor share = sub(1.0, dampening, 1, at);
      added = mul(gradient, share, at);
    }
    const Tensor kept = mul(buffer, rate, at);
    const Tensor momentum = add(kept, added, 1, at);
    copy_(buffer, momentum, at);
    if (o.dampening != 0) fill_(started, 1.0, at);
    gradient = o.nesterov ? add(gradient, mul(momentum, rate, at), 1, at) : momentum;
  }
  const Tensor change = mul(gradient, learning_rate_tensor(p.group), at);
  const Tensor value = sub(p.value, change, 1, at);
  copy_(p.value, value, at);
}

void SGD::prepare_momentum(size_t group, SourceLocation) {
  if (options_[group].momentum != 0) return;
  for (size_t i = 0; i < parameter_count(); ++i)
    if (group_of(i) == group) add_state(i, {{"momentum_buffer", true}, {"started", false}});
}

std::vector<ParameterGroup<AdamWOptions>> decay_matrices_only(const std::vector<Tensor>& parameters,
                                                              const AdamWOptions& options) {
  std::vector<ParameterGroup<AdamWOptions>> groups(2);
  groups[0].options = groups[1].options = options;
  groups[1].options.weight_decay = 0;
  for (const Tensor& parameter : parameters) groups[parameter.ndim() >= 2 ? 0 : 1].parameters.push_back(parameter);
  return groups;
}

}  // namespace fulgurite::optim
