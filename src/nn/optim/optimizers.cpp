// The optimizers of torch.optim beside SGD, Adam and AdamW: what one step does to one parameter. Numbers that depend on
// the count of steps are 0-d f64 tensors, so that a traced step is compiled once.
#include <fulgurite/optimizers.h>

#include <cmath>

#include <fulgurite/autograd.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "nn/optimizer_settings.h"
#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::optim {

namespace {

template <class Options>
constexpr std::string_view name_of = "";
template <>
constexpr std::string_view name_of<RMSpropOptions> = "RMSprop";
template <>
constexpr std::string_view name_of<AdagradOptions> = "Adagrad";
template <>
constexpr std::string_view name_of<AdadeltaOptions> = "Adadelta";
template <>
constexpr std::string_view name_of<AdamaxOptions> = "Adamax";
template <>
constexpr std::string_view name_of<NAdamOptions> = "NAdam";
template <>
constexpr std::string_view name_of<RAdamOptions> = "RAdam";
template <>
constexpr std::string_view name_of<RpropOptions> = "Rprop";
template <>
constexpr std::string_view name_of<ASGDOptions> = "ASGD";
template <>
constexpr std::string_view name_of<LionOptions> = "Lion";
template <>
constexpr std::string_view name_of<MuonOptions> = "Muon";

/// Refuses settings that make no sense.
class Settings {
 public:
  Settings(std::string_view optimizer, SourceLocation at) : optimizer_(optimizer), at_(at) {}
  void not_negative(std::string_view name, double value) const {
    if (!(value >= 0 && std::isfinite(value))) refuse(name, value, "a finite number of at least 0");
  }
  void share(std::string_view name, double value) const {
    if (!(value >= 0 && value < 1)) refuse(name, value, "from 0 to below 1");
  }
  [[noreturn]] void refuse(std::string_view name, double value, std::string_view demand) const {
    throw UserError(text::cat(optimizer_, ": invalid ", name, ": ", value, "; it must be ", demand), at_);
  }

 private:
  std::string_view optimizer_;
  SourceLocation at_;
};

template <class Options>
void check(const Options& o, SourceLocation at) {
  const Settings settings(name_of<Options>, at);
  settings.not_negative("learning rate lr", o.lr);
  if constexpr (requires { o.weight_decay; }) settings.not_negative("weight_decay value", o.weight_decay);
  if constexpr (requires { o.eps; }) settings.not_negative("epsilon value eps", o.eps);
  if constexpr (requires { o.momentum; }) settings.not_negative("momentum value", o.momentum);
  if constexpr (requires { o.alpha; }) settings.not_negative("alpha value", o.alpha);
  if constexpr (requires { o.rho; }) settings.share("rho value", o.rho);
  if constexpr (requires { o.lr_decay; }) settings.not_negative("lr_decay value", o.lr_decay);
  if constexpr (requires { o.momentum_decay; }) settings.not_negative("momentum_decay value", o.momentum_decay);
  if constexpr (requires { o.initial_accumulator_value; })
    settings.not_negative("initial_accumulator_value", o.initial_accumulator_value);
  if constexpr (requires { o.betas; }) {
    settings.share("beta parameter at index 0", o.betas.first);
    settings.share("beta parameter at index 1", o.betas.second);
  }
  if constexpr (requires { o.etas; }) {
    if (!(o.etas.first > 0 && o.etas.first < 1)) settings.refuse("eta at index 0", o.etas.first, "between 0 and 1");
    if (!(o.etas.second > 1)) settings.refuse("eta at index 1", o.etas.second, "above 1");
  }
  if constexpr (requires { o.ns_steps; }) {
    if (o.ns_steps < 0 || o.ns_steps >= 100)
      settings.refuse("ns_steps", static_cast<double>(o.ns_steps), "from 0 to 99");
    if (o.adjust_lr_fn != "original" && o.adjust_lr_fn != "match_rms_adamw" && o.adjust_lr_fn != "spectral_unclamped")
      throw UserError(
          text::cat("Muon: adjust_lr_fn must be \"original\", \"match_rms_adamw\" or \"spectral_unclamped\", not \"",
                    o.adjust_lr_fn, "\""),
          at);
  }
}

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
  const Tensor agreement = mul(s.gradient, state[0], at), turns = lt(agreement, 0, at), goes_on = gt(agreement, 0, at);
  const Tensor shrunk = mul(state[1], o.etas.first, at), grown = mul(state[1], o.etas.second, at);
  const Tensor other = where(goes_on, grown, state[1], at), next = where(turns, shrunk, other, at);
  copy_(state[1], clamp(next, o.step_sizes.first, o.step_sizes.second, at), at);
  const Tensor gradient = where(turns, 0, s.gradient, at);
  const Tensor change = mul(sign(gradient, at), state[1], at);
  s.set(sub(s.value, change, 1, at));
  copy_(state[0], gradient, at);
}

void take_step(const ASGDOptions& o, const Step& s, const auto& state) {
  const SourceLocation at = s.at;
  const Tensor count = s.count(state[0]), &rate = state[1], &share = state[2], &average = state[3];
  const Tensor lost = mul(rate, o.lambd, at), kept = mul(s.value, sub(1.0, lost, 1, at), at);
  s.set(sub(kept, mul(s.gradient, rate, at), 1, at));
  const Tensor difference = sub(s.value, average, 1, at), part = mul(difference, share, at),
               mixed = add(average, part, 1, at);
  copy_(average, where(eq(share, 1, at), s.value, mixed, at), at);
  const Tensor slowed = mul(mul(s.rate, o.lambd, at), count, at), base = add(slowed, 1, 1, at);
  copy_(rate, div(s.rate, pow(base, o.alpha, at), {}, at), at);
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
  for (const auto& group : groups) {
    check(group.options, at);
    options_.push_back(group.options);
    add_group(group.options.lr);
    for (const Tensor& parameter : group.parameters) add_parameter_with(parameter, group.options, at);
  }
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
    add_parameter(parameter, {{"prev", true}, {"step_size", true}});
    fill_(state()[1], o.lr, at);
  } else if constexpr (std::is_same_v<Options, ASGDOptions>) {
    add_parameter(parameter, {{"step", false}, {"eta", false}, {"mu", false}, {"ax", true}});
    fill_(state()[1], o.lr, at);
    fill_(state()[2], 1, at);
  } else if constexpr (std::is_same_v<Options, LionOptions>) {
    add_parameter(parameter, {{"exp_avg", true}});
  } else {
    add_parameter(parameter, {{"momentum_buffer", true}});
    if (parameter.ndim() != 2)
      throw UserError(text::cat("Muon: parameters have 2 dimensions, not ", type_text(parameter),
                                "; give biases and norms to another optimizer, such as AdamW"),
                      at);
  }
}

template <class Options>
void OptimizerWith<Options>::update(const Parameter& p, const Tensor& given, SourceLocation at) {
  const Options& o = options_[p.group];
  Tensor gradient = given;
  if constexpr (requires { o.maximize; })
    if (o.maximize) gradient = neg(gradient, at);
  constexpr bool decays_values = std::is_same_v<Options, LionOptions> || std::is_same_v<Options, MuonOptions>;
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

void clip_grad_value_(const std::vector<Tensor>& parameters, double limit, SourceLocation at) {
  check_limit(limit, "clip_grad_value_", at);
  const NoGrad no_grad;
  for (const Tensor& parameter : parameters)
    if (const Tensor gradient = parameter.grad(at); gradient.defined()) clamp_(gradient, -limit, limit, at);
}

}  // namespace fulgurite::optim
