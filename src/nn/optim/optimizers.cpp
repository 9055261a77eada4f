// The optimizers of torch.optim beside SGD, Adam and AdamW: what one step does to one parameter. Numbers that depend on
// the count of steps are 0-d f64 tensors, so that a traced step is compiled once.
#include <fulgurite/optimizers.h>

#include <cmath>

#include <fulgurite/autograd.h>
#include <fulgurite/error.h>
#include <fulgurite/libtorch_names.h>
#include <fulgurite/operators.h>

#include "nn/optim/optimizer_checks.h"
#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::optim {

namespace {

/// One parameter's step. Calls of operators stand in statements of their own: the order of a call's arguments is not
/// defined.
struct Step {
  const Tensor& value;
  Tensor gradient;
  Tensor rate;  // 0-d f64
  SourceLocation at;

  /// The count after this step, which is stored, as f64.
  Tensor count(const Tensor& stored) const {
    copy_(stored, add(stored, 1, 1, at), at);
    return stored.to(Dtype::f64, at);
  }
  /// In the first step the learning rate, which a schedule may have set since the state was made; else the stored one.
  Tensor first_rate(const Tensor& count, const Tensor& stored) const {
    const Tensor given = rate.to(stored.dtype(), at), is_first = eq(count, 1, at);
    return where(is_first, given, stored, at);
  }
  /// buffer * share + added * (1 - share), stored.
  void mix(const Tensor& buffer, const Tensor& added, double share) const {
    copy_(buffer, lerp(buffer, added, 1 - share, at), at);
  }
  void mix_squares(const Tensor& buffer, double share) const {
    const Tensor kept = mul(buffer, share, at);
    copy_(buffer, addcmul(kept, gradient, gradient, 1 - share, at), at);
  }
  /// The value less factor * direction; the factor is 0-d.
  void descend(const Tensor& factor, const Tensor& direction) const {
    set(sub(value, mul(direction, factor, at), 1, at));
  }
  void set(const Tensor& result) const { copy_(value, result, at); }
  void decay(double weight_decay) const {
    if (weight_decay == 0) return;
    const Tensor lost = mul(rate, weight_decay, at);
    set(mul(value, sub(1.0, lost, 1, at), at));
  }
  /// 1 - base ^ count
  Tensor missing(double base, const Tensor& count) const { return sub(1.0, pow(base, count, at), 1, at); }
};

void take_step(const RMSpropOptions& o, const Step& s, const auto& state) {
  const SourceLocation at = s.at;
  const Tensor& squares = state[0];
  s.mix_squares(squares, o.alpha);
  Tensor mean = squares;
  size_t next = 1;
  if (o.centered) {
    const Tensor& centre = state[next++];
    s.mix(centre, s.gradient, o.alpha);
    mean = addcmul(squares, centre, centre, -1, at);
  }
  const Tensor root = sqrt(mean, at), divisor = add(root, o.eps, 1, at);
  Tensor direction = div(s.gradient, divisor, {}, at);
  if (o.momentum > 0) {
    const Tensor& buffer = state[next];
    const Tensor kept = mul(buffer, o.momentum, at);
    copy_(buffer, add(kept, direction, 1, at), at);
    direction = buffer;
  }
  s.descend(s.rate, direction);
}

void take_step(const AdagradOptions& o, const Step& s, const auto& state) {
  const SourceLocation at = s.at;
  const Tensor count = s.count(state[0]);
  const Tensor before = sub(count, 1, 1, at), slowed = mul(before, o.lr_decay, at);
  const Tensor rate = div(s.rate, add(slowed, 1, 1, at), {}, at);
  copy_(state[1], addcmul(state[1], s.gradient, s.gradient, 1, at), at);
  const Tensor root = sqrt(state[1], at);
  s.descend(rate, div(s.gradient, add(root, o.eps, 1, at), {}, at));
}

void take_step(const AdadeltaOptions& o, const Step& s, const auto& state) {
  const SourceLocation at = s.at;
  s.mix_squares(state[0], o.rho);
  const Tensor squares = add(state[0], o.eps, 1, at), root = sqrt(squares, at);
  const Tensor changes = add(state[1], o.eps, 1, at), top = sqrt(changes, at);
  const Tensor change = mul(div(top, root, {}, at), s.gradient, at);
  const Tensor kept = mul(state[1], o.rho, at);
  copy_(state[1], addcmul(kept, change, change, 1 - o.rho, at), at);
  s.descend(s.rate, change);
}

void take_step(const AdamaxOptions& o, const Step& s, const auto& state) {
  const SourceLocation at = s.at;
  const Tensor count = s.count(state[0]);
  s.mix(state[1], s.gradient, o.betas.first);
  const Tensor kept = mul(state[2], o.betas.second, at), size = abs(s.gradient, at), present = add(size, o.eps, 1, at);
  copy_(state[2], maximum(kept, present, at), at);
  const Tensor rate = div(s.rate, s.missing(o.betas.first, count), {}, at);
  s.descend(rate, div(state[1], state[2], {}, at));
}

void take_step(const NAdamOptions& o, const Step& s, const auto& state) {
  const SourceLocation at = s.at;
  const Tensor count = s.count(state[0]);
  const auto momentum_at = [&](const Tensor& step) {
    const Tensor exponent = mul(step, o.momentum_decay, at), power = pow(0.96, exponent, at),
                 half = mul(power, 0.5, at);
    return mul(sub(1.0, half, 1, at), o.betas.first, at);
  };
  const Tensor momentum = momentum_at(count), later = momentum_at(add(count, 1, 1, at));
  const Tensor product = mul(state[1].to(Dtype::f64, at), momentum, at);
  copy_(state[1], product, at);
  s.mix(state[2], s.gradient, o.betas.first);
  s.mix_squares(state[3], o.betas.second);
  const Tensor mean = div(state[3], s.missing(o.betas.second, count), {}, at), root = sqrt(mean, at);
  const Tensor divisor = add(root, o.eps, 1, at);
  const auto share = [&](const Tensor& part, const Tensor& all) {
    const Tensor scaled = mul(s.rate, part, at);
    return div(scaled, sub(1.0, all, 1, at), {}, at);
  };
  const Tensor present = share(sub(1.0, momentum, 1, at), product), future = share(later, mul(product, later, at));
  s.descend(present, div(s.gradient, divisor, {}, at));
  s.descend(future, div(state[2], divisor, {}, at));
}

void take_step(const RAdamOptions& o, const Step& s, const auto& state) {
  const SourceLocation at = s.at;
  const double beta2 = o.betas.second, longest = 2 / (1 - beta2) - 1;
  const Tensor count = s.count(state[0]);
  s.mix(state[1], s.gradient, o.betas.first);
  s.mix_squares(state[2], beta2);
  const Tensor missing1 = s.missing(o.betas.first, count), missing2 = s.missing(beta2, count);
  // The length of the running mean; from 5 on the variance of the squares can be corrected.
  const Tensor power = pow(beta2, count, at), weighed = mul(mul(count, power, at), 2, at),
               lost = div(weighed, missing2, {}, at);
  const Tensor length = sub(longest, lost, 1, at), is_long = gt(length, 5, at), safe = clamp_min(length, 5.0, at);
  const Tensor a = sub(safe, 4, 1, at), b = sub(safe, 2, 1, at), ab = mul(a, b, at);
  const Tensor ratio = div(mul(ab, longest, at), mul(safe, (longest - 4) * (longest - 2), at), {}, at);
  const Tensor scale = mul(sqrt(ratio, at), sqrt(missing2, at), at);
  const Tensor rate = div(s.rate, missing1, {}, at);
  const Tensor root = sqrt(state[2], at), divisor = add(root, o.eps, 1, at);
  const Tensor adapted = div(mul(state[1], scale, at), divisor, {}, at);
  s.descend(rate, where(is_long, adapted, state[1], at));
}

void take_step(const RpropOptions& o, const Step& s, const auto& state) {
  const SourceLocation at = s.at;
  const Tensor count = s.count(state[0]), &before = state[1], &stored = state[2];
  const Tensor agreement = mul(s.gradient, before, at), turns = lt(agreement, 0, at), goes_on = gt(agreement, 0, at);
  const Tensor size = s.first_rate(count, stored);
  const Tensor shrunk = mul(size, o.etas.first, at), grown = mul(size, o.etas.second, at);
  const Tensor other = where(goes_on, grown, size, at), next = where(turns, shrunk, other, at);
  copy_(stored, clamp(next, o.step_sizes.first, o.step_sizes.second, at), at);
  const Tensor gradient = where(turns, 0, s.gradient, at);
  const Tensor change = mul(sign(gradient, at), stored, at);
  s.set(sub(s.value, change, 1, at));
  copy_(before, gradient, at);
}

void take_step(const ASGDOptions& o, const Step& s, const auto& state) {
  const SourceLocation at = s.at;
  const Tensor count = s.count(state[0]), &stored = state[1], &share = state[2], &average = state[3];
  const Tensor rate = s.first_rate(count, stored);
  const Tensor lost = mul(rate, o.lambd, at), kept = mul(s.value, sub(1.0, lost, 1, at), at);
  s.set(sub(kept, mul(s.gradient, rate, at), 1, at));
  const Tensor difference = sub(s.value, average, 1, at), part = mul(difference, share, at),
               mixed = add(average, part, 1, at);
  copy_(average, where(eq(share, 1, at), s.value, mixed, at), at);
  const Tensor slowed = mul(mul(s.rate, o.lambd, at), count, at), base = add(slowed, 1, 1, at);
  copy_(stored, div(s.rate, pow(base, o.alpha, at), {}, at), at);
  const Tensor beyond = clamp_min(sub(count, o.t0, 1, at), 1.0, at);
  copy_(share, div(1.0, beyond, {}, at), at);
}

void take_step(const LionOptions& o, const Step& s, const auto& state) {
  const SourceLocation at = s.at;
  s.decay(o.weight_decay);
  const Tensor mixed = lerp(state[0], s.gradient, 1 - o.betas.first, at);
  s.descend(s.rate, sign(mixed, at));
  s.mix(state[0], s.gradient, o.betas.second);
}

/// The root of the mean square, 0-d f64.
Tensor root_mean_square(const Tensor& x, SourceLocation at) {
  const Tensor size = norm(x, 2.0, {}, false, {}, at).to(Dtype::f64, at);
  return div(size, std::sqrt(static_cast<double>(static_cast<int64_t>(x.numel()))), {}, at);
}

/// The mean square of each element, of a matrix from those of rows and columns. `share` of the new squares is mixed in.
Tensor mean_squares(const Step& s, const auto& state, const Tensor& share, double smallest) {
  const SourceLocation at = s.at;
  const auto mix = [&](const Tensor& buffer, const Tensor& squares) {
    const Tensor change = mul(sub(squares, buffer, 1, at), share, at);
    copy_(buffer, add(buffer, change, 1, at), at);
  };
  const Tensor squares = square(s.gradient, at);
  if (s.gradient.ndim() < 2) {
    mix(state[1], squares);
    return state[1];
  }
  mix(state[1], mean(squares, {-1}, true, {}, at));
  mix(state[2], mean(squares, {-2}, true, {}, at));
  const Tensor of_rows = mean(state[1], {-2}, true, {}, at), divisor = clamp_min(of_rows, smallest, at);
  return div(matmul(state[1], state[2], at), divisor, {}, at);
}

void take_step(const AdafactorOptions& o, const Step& s, const auto& state) {
  const SourceLocation at = s.at;
  const double smallest = o.eps.first.value_or(finfo(s.value.dtype(), at).eps);
  const Tensor count = s.count(state[0]), share = pow(count, o.beta2_decay, at);
  const Tensor longest = minimum(s.rate, rsqrt(count, at), at);
  const Tensor size = clamp_min(root_mean_square(s.value, at), o.eps.second, at), rate = mul(size, longest, at);
  s.decay(o.weight_decay);
  const Tensor squares = clamp_min(mean_squares(s, state, share, smallest), smallest * smallest, at);
  const Tensor update = mul(rsqrt(squares, at), s.gradient, at);
  const Tensor excess = clamp_min(div(root_mean_square(update, at), o.d, {}, at), 1.0, at);
  s.descend(div(rate, excess, {}, at), update);
}

/// A matrix with the singular vectors of `matrix` and singular values near 1.
Tensor made_orthogonal(const Tensor& matrix, const MuonOptions& o, SourceLocation at) {
  const bool is_tall = matrix.size(0) > matrix.size(1);
  Tensor x = matrix.to(Dtype::bf16, at);
  if (is_tall) x = transpose(x, 0, 1, at);
  const Tensor size = norm(x, 2.0, {}, false, {}, at), divisor = clamp_min(size, o.eps, at);
  x = div(x, divisor, {}, at);
  for (int64_t i = 0; i < o.ns_steps; ++i) {
    const Tensor turned = transpose(x, 0, 1, at), gram = matmul(x, turned, at);
    const Tensor update = addmm(gram, gram, gram, o.ns_coefficients[1], o.ns_coefficients[2], at);
    x = addmm(x, update, x, o.ns_coefficients[0], 1, at);
  }
  return is_tall ? transpose(x, 0, 1, at) : x;
}

double rate_factor(const std::string& rule, double rows, double columns) {
  if (rule == "match_rms_adamw") return 0.2 * std::sqrt(std::max(rows, columns));
  return std::sqrt(rule == "original" ? std::max(1.0, rows / columns) : rows / columns);
}

void take_step(const MuonOptions& o, const Step& s, const auto& state) {
  const SourceLocation at = s.at;
  s.mix(state[0], s.gradient, o.momentum);
  const Tensor update = o.nesterov ? lerp(s.gradient, state[0], o.momentum, at) : state[0];
  const Tensor direction = made_orthogonal(update, o, at);
  s.decay(o.weight_decay);
  const double factor =
      rate_factor(o.adjust_lr_fn, static_cast<double>(s.value.size(0)), static_cast<double>(s.value.size(1)));
  s.descend(mul(s.rate, factor, at), direction.to(s.value.dtype(), at));
}

}  // namespace

template <class Options>
OptimizerWith<Options>::OptimizerWith(const std::vector<ParameterGroup<Options>>& groups, SourceLocation at) {
  for (const auto& group : groups) add_param_group(group, at);
}

template <class Options>
void OptimizerWith<Options>::add_param_group(const ParameterGroup<Options>& group, SourceLocation at) {
  check(group.options, at);
  options_.push_back(group.options);
  add_group(group.options.lr);
  for (const Tensor& parameter : group.parameters) add_parameter_with(parameter, group.options, at);
}

template <class Options>
void OptimizerWith<Options>::add_parameter_with(const Tensor& parameter, const Options& o, SourceLocation at) {
  const auto state = [&]() -> const Parameter& { return parameter_at(parameter_count() - 1); };
  if constexpr (std::is_same_v<Options, RMSpropOptions>) {
    add_parameter(parameter, {{"square_avg", true}});
    if (o.centered) add_state(parameter_count() - 1, {{"grad_avg", true}});
    if (o.momentum > 0) add_state(parameter_count() - 1, {{"momentum_buffer", true}});
  } else if constexpr (std::is_same_v<Options, AdagradOptions>) {
    add_parameter(parameter, {{"step", false}, {"sum", true}});
    fill_(state()[1], o.initial_accumulator_value, at);
  } else if constexpr (std::is_same_v<Options, AdadeltaOptions>) {
    add_parameter(parameter, {{"square_avg", true}, {"acc_delta", true}});
  } else if constexpr (std::is_same_v<Options, AdamaxOptions>) {
    add_parameter(parameter, {{"step", false}, {"exp_avg", true}, {"exp_inf", true}});
  } else if constexpr (std::is_same_v<Options, NAdamOptions>) {
    add_parameter(parameter, {{"step", false}, {"mu_product", false}, {"exp_avg", true}, {"exp_avg_sq", true}});
    fill_(state()[1], 1, at);
  } else if constexpr (std::is_same_v<Options, RAdamOptions>) {
    add_parameter(parameter, {{"step", false}, {"exp_avg", true}, {"exp_avg_sq", true}});
  } else if constexpr (std::is_same_v<Options, RpropOptions>) {
    add_parameter(parameter, {{"step", false}, {"prev", true}, {"step_size", true}});
    fill_(state()[2], o.lr, at);
  } else if constexpr (std::is_same_v<Options, ASGDOptions>) {
    add_parameter(parameter, {{"step", false}, {"eta", false}, {"mu", false}, {"ax", true}});
    fill_(state()[1], o.lr, at);
    fill_(state()[2], 1, at);
  } else if constexpr (std::is_same_v<Options, LionOptions>) {
    add_parameter(parameter, {{"exp_avg", true}});
  } else if constexpr (std::is_same_v<Options, AdafactorOptions>) {
    Shape rows = parameter.shape(), columns = parameter.shape();
    if (rows.size() > 1) {
      rows[rows.size() - 1] = 1;
      columns[columns.size() - 2] = 1;
      add_parameter(parameter, {{"step", false}, {"row_var", false, rows}, {"col_var", false, columns}});
    } else {
      add_parameter(parameter, {{"step", false}, {"variance", true}});
    }
  } else {
    add_parameter(parameter, {{"momentum_buffer", true}});
    if (parameter.ndim() != 2)
      throw UserError(text::cat("Muon: parameters have 2 dimensions, not ", type_text(parameter),
                                "; give biases and norms to another optimizer, such as AdamW"),
                      at);
  }
}

namespace {

template <class Options>
bool maximizes(const Options& options) {
  if constexpr (requires { options.maximize; }) return options.maximize;
  else return false;
}

}  // namespace

template <class Options>
void OptimizerWith<Options>::update(const Parameter& p, const Tensor& given, SourceLocation at) {
  const Options& o = options_[p.group];
  Tensor gradient = maximizes(o) ? neg(given, at) : given;
  constexpr bool decays_values = std::is_same_v<Options, LionOptions> || std::is_same_v<Options, MuonOptions> ||
                                 std::is_same_v<Options, AdafactorOptions>;
  const Step step{p.value, gradient, learning_rate_tensor(p.group).to(Dtype::f64, at), at};
  if constexpr (!decays_values && requires { o.weight_decay; }) {
    bool decoupled = false;
    if constexpr (requires { o.decoupled_weight_decay; }) decoupled = o.decoupled_weight_decay;
    if (decoupled) step.decay(o.weight_decay);
    else if (o.weight_decay != 0) gradient = add(gradient, p.value, o.weight_decay, at);
  }
  take_step(o, Step{p.value, gradient, step.rate, at}, p);
}

template class OptimizerWith<RMSpropOptions>;
template class OptimizerWith<AdagradOptions>;
template class OptimizerWith<AdadeltaOptions>;
template class OptimizerWith<AdamaxOptions>;
template class OptimizerWith<NAdamOptions>;
template class OptimizerWith<RAdamOptions>;
template class OptimizerWith<RpropOptions>;
template class OptimizerWith<ASGDOptions>;
template class OptimizerWith<LionOptions>;
template class OptimizerWith<MuonOptions>;
template class OptimizerWith<AdafactorOptions>;

void clip_grad_value_(const std::vector<Tensor>& parameters, double limit, SourceLocation at) {
  check_limit(limit, "clip_grad_value_", at);
  const NoGrad no_grad;
  for (const Tensor& parameter : parameters)
    if (const Tensor gradient = parameter.grad(at); gradient.defined()) clamp_(gradient, -limit, limit, at);
}

}  // namespace fulgurite::optim
