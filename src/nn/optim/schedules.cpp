// Schedules of learning rates.
#include <fulgurite/schedules.h>

#include <algorithm>
#include <cmath>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "nn/optimizer_settings.h"
#include "ops/core/dispatch.h"
#include "support/text/text.h"

namespace fulgurite::optim {

namespace {

constexpr double pi = 3.14159265358979323846;

void demand(bool condition, std::string_view schedule, std::string_view what, SourceLocation at) {
  if (!condition) throw UserError(text::cat(schedule, ": ", what), at);
}

double half_cosine(double from, double to, double part) { return to + (from - to) / 2 * (1 + std::cos(pi * part)); }

}  // namespace

Schedule::Schedule(Optimizer& optimizer, SourceLocation at) : optimizer_(optimizer) {
  for (Optimizer::Group& group : optimizer.groups_) {
    Tensor& initial = group.initial_learning_rate;
    if (!initial.defined()) initial = full({}, group.learning_rate.item<double>(at), {.dtype = Dtype::f64}, at);
    bases_.push_back(initial.item<double>(at));
  }
}

void Schedule::step(SourceLocation at) { set_iteration(iteration_ + 1, at); }

void Schedule::set_iteration(int64_t iteration, SourceLocation at) {
  act_immediately("a step of a schedule", at);
  if (iteration < 0) throw UserError(text::cat("a schedule's iteration must be at least 0, not ", iteration), at);
  std::vector<double> rates;
  for (const double base : bases_) rates.push_back(rate(iteration, base));
  for (const double value : rates) check_rate(value, "a schedule", "rate", at);
  for (size_t group = 0; group < rates.size(); ++group) {
    fill_(optimizer_.learning_rate_tensor(group), rates[group], at);
    if (const std::optional<double> value = momentum(iteration)) optimizer_.set_momentum(group, *value, at);
  }
  iteration_ = iteration;
}

std::vector<double> Schedule::last_lr() const {
  std::vector<double> out;
  for (size_t group = 0; group < bases_.size(); ++group) out.push_back(optimizer_.learning_rate(group));
  return out;
}

std::map<std::string, Tensor> Schedule::state_dict() const {
  return {{"iteration", full({}, iteration_, {.dtype = Dtype::i64})}, {"initial_lr", tensor(bases_)}};
}

void Schedule::load_state_dict(const std::map<std::string, Tensor>& state, SourceLocation at) {
  for (const char* name : {"iteration", "initial_lr"})
    if (!state.contains(name))
      throw UserError(text::cat("a schedule's load_state_dict(): there is no \"", name, "\""), at);
  const Tensor bases = state.at("initial_lr").to(Dtype::f64, at);
  if (bases.ndim() != 1 || bases.numel() != static_cast<int64_t>(bases_.size()))
    throw UserError(text::cat("a schedule's load_state_dict(): initial_lr has shape ", bases.shape(),
                              "; the optimizer has ", bases_.size(), " groups"),
                    at);
  const std::vector<double> rates = bases.to_vector<double>(at);
  for (const double value : rates) check_rate(value, "a schedule's load_state_dict()", "initial_lr", at);
  bases_ = rates;
  set_iteration(state.at("iteration").item<int64_t>(at), at);
}

StepLR::StepLR(Optimizer& optimizer, const StepLROptions& options, SourceLocation at)
    : Schedule(optimizer, at), options_(options) {
  demand(options.step_size > 0, "StepLR", "step_size must be positive", at);
  set_iteration(0, at);
}
StepLR::StepLR(Optimizer& optimizer, int64_t step_size, double gamma, SourceLocation at)
    : StepLR(optimizer, StepLROptions{.step_size = step_size, .gamma = gamma}, at) {}
double StepLR::rate(int64_t i, double base) const {
  const int64_t decays = i / options_.step_size;
  return base * std::pow(options_.gamma, static_cast<double>(decays));
}

MultiStepLR::MultiStepLR(Optimizer& optimizer, const MultiStepLROptions& options, SourceLocation at)
    : Schedule(optimizer, at), options_(options) {
  set_iteration(0, at);
}
double MultiStepLR::rate(int64_t i, double base) const {
  const auto passed = std::ranges::count_if(options_.milestones, [i](int64_t milestone) { return milestone <= i; });
  return base * std::pow(options_.gamma, static_cast<double>(passed));
}

ConstantLR::ConstantLR(Optimizer& optimizer, const ConstantLROptions& options, SourceLocation at)
    : Schedule(optimizer, at), options_(options) {
  demand(options.factor >= 0 && options.factor <= 1, "ConstantLR", "factor must be from 0 to 1", at);
  set_iteration(0, at);
}
double ConstantLR::rate(int64_t i, double base) const {
  return i < options_.total_iters ? base * options_.factor : base;
}

LinearLR::LinearLR(Optimizer& optimizer, const LinearLROptions& options, SourceLocation at)
    : Schedule(optimizer, at), options_(options) {
  demand(options.start_factor > 0 && options.start_factor <= 1, "LinearLR",
         "start_factor must be above 0 and at most 1", at);
  demand(options.end_factor >= 0 && options.end_factor <= 1, "LinearLR", "end_factor must be from 0 to 1", at);
  demand(options.total_iters > 0, "LinearLR", "total_iters must be positive", at);
  set_iteration(0, at);
}
double LinearLR::rate(int64_t i, double base) const {
  const double part =
      static_cast<double>(std::min(i, options_.total_iters)) / static_cast<double>(options_.total_iters);
  return base * (options_.start_factor + (options_.end_factor - options_.start_factor) * part);
}

ExponentialLR::ExponentialLR(Optimizer& optimizer, double gamma, SourceLocation at)
    : Schedule(optimizer, at), gamma_(gamma) {
  set_iteration(0, at);
}
ExponentialLR::ExponentialLR(Optimizer& optimizer, const ExponentialLROptions& options, SourceLocation at)
    : ExponentialLR(optimizer, options.gamma, at) {}
double ExponentialLR::rate(int64_t i, double base) const { return base * std::pow(gamma_, static_cast<double>(i)); }

PolynomialLR::PolynomialLR(Optimizer& optimizer, const PolynomialLROptions& options, SourceLocation at)
    : Schedule(optimizer, at), options_(options) {
  demand(options.total_iters > 0, "PolynomialLR", "total_iters must be positive", at);
  set_iteration(0, at);
}
double PolynomialLR::rate(int64_t i, double base) const {
  const double part =
      static_cast<double>(std::min(i, options_.total_iters)) / static_cast<double>(options_.total_iters);
  return base * std::pow(1 - part, options_.power);
}

CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, const CosineAnnealingLROptions& options, SourceLocation at)
    : Schedule(optimizer, at), options_(options) {
  demand(options.T_max > 0, "CosineAnnealingLR", "T_max must be positive", at);
  set_iteration(0, at);
}
CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min, SourceLocation at)
    : CosineAnnealingLR(optimizer, CosineAnnealingLROptions{.T_max = T_max, .eta_min = eta_min}, at) {}
double CosineAnnealingLR::rate(int64_t i, double base) const {
  return half_cosine(base, options_.eta_min, static_cast<double>(i) / static_cast<double>(options_.T_max));
}

CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(Optimizer& optimizer,
                                                         const CosineAnnealingWarmRestartsOptions& options,
                                                         SourceLocation at)
    : Schedule(optimizer, at), options_(options) {
  demand(options.T_0 > 0 && options.T_mult > 0, "CosineAnnealingWarmRestarts", "T_0 and T_mult must be positive", at);
  set_iteration(0, at);
}
CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(Optimizer& optimizer, int64_t T_0, int64_t T_mult,
                                                         double eta_min, SourceLocation at)
    : CosineAnnealingWarmRestarts(
          optimizer, CosineAnnealingWarmRestartsOptions{.T_0 = T_0, .T_mult = T_mult, .eta_min = eta_min}, at) {}
double CosineAnnealingWarmRestarts::rate(int64_t i, double base) const {
  int64_t length = options_.T_0;
  if (options_.T_mult == 1) i %= length;
  else
    for (; i >= length; length *= options_.T_mult) i -= length;
  return half_cosine(base, options_.eta_min, static_cast<double>(i) / static_cast<double>(length));
}

OneCycle::OneCycle(Optimizer& optimizer, const OneCycleOptions& options, SourceLocation at)
    : Schedule(optimizer, at), options_(options) {
  const int64_t total = options.total_steps.value_or(options.epochs * options.steps_per_epoch);
  demand(total > 0, "OneCycle", "total_steps, or epochs and steps_per_epoch, must be positive", at);
  demand(options.max_lr > 0, "OneCycle", "max_lr must be positive", at);
  demand(options.pct_start >= 0 && options.pct_start <= 1, "OneCycle", "pct_start must be from 0 to 1", at);
  demand(options.anneal_strategy == "cos" || options.anneal_strategy == "linear", "OneCycle",
         "anneal_strategy must be \"cos\" or \"linear\"", at);
  total_ = static_cast<double>(total);
  set_iteration(0, at);
}
double OneCycle::between(int64_t i, double start, double peak, double end) const {
  const double now = std::min(static_cast<double>(i), total_ - 1);
  const double first = options_.pct_start * total_ - 1, second = options_.three_phase ? 2 * first : total_ - 1;
  const auto mix = [&](double from, double to, double part) {
    return options_.anneal_strategy == "cos" ? half_cosine(from, to, part) : (to - from) * part + from;
  };
  if (now <= first) return mix(start, peak, first == 0 ? 1 : now / first);
  if (now <= second || !options_.three_phase)
    return mix(peak, options_.three_phase ? start : end, (now - first) / (second - first));
  return mix(start, end, (now - second) / (total_ - 1 - second));
}
double OneCycle::rate(int64_t i, double) const {
  if (static_cast<double>(i) > total_)
    throw UserError(text::cat("OneCycle: step ", i, " is beyond the ", static_cast<int64_t>(total_), " of the cycle"));
  const double start = options_.max_lr / options_.div_factor;
  return between(i, start, options_.max_lr, start / options_.final_div_factor);
}
std::optional<double> OneCycle::momentum(int64_t i) const {
  if (!options_.cycle_momentum) return {};
  return between(i, options_.max_momentum, options_.base_momentum, options_.max_momentum);
}

CyclicLR::CyclicLR(Optimizer& optimizer, const CyclicLROptions& options, SourceLocation at)
    : Schedule(optimizer, at), options_(options) {
  demand(options.step_size_up > 0 && options.step_size_down.value_or(1) > 0, "CyclicLR", "step sizes must be positive",
         at);
  demand(options.mode == "triangular" || options.mode == "triangular2" || options.mode == "exp_range", "CyclicLR",
         "mode must be \"triangular\", \"triangular2\" or \"exp_range\"", at);
  set_iteration(0, at);
}
double CyclicLR::height(int64_t i) const {
  const auto up = static_cast<double>(options_.step_size_up);
  const double total = up + static_cast<double>(options_.step_size_down.value_or(options_.step_size_up));
  const auto now = static_cast<double>(i);
  const double cycle = std::floor(1 + now / total), x = 1 + now / total - cycle, peak = up / total;
  const double triangle = x <= peak ? x / peak : (x - 1) / (peak - 1);
  if (options_.mode == "triangular2") return triangle / std::pow(2.0, cycle - 1);
  return options_.mode == "exp_range" ? triangle * std::pow(options_.gamma, now) : triangle;
}
double CyclicLR::rate(int64_t i, double) const {
  return options_.base_lr + (options_.max_lr - options_.base_lr) * height(i);
}
std::optional<double> CyclicLR::momentum(int64_t i) const {
  if (!options_.cycle_momentum) return {};
  return options_.max_momentum - (options_.max_momentum - options_.base_momentum) * height(i);
}

LambdaLR::LambdaLR(Optimizer& optimizer, std::function<double(int64_t)> factor, SourceLocation at)
    : Schedule(optimizer, at), factor_(std::move(factor)) {
  demand(static_cast<bool>(factor_), "LambdaLR", "there is no function", at);
  set_iteration(0, at);
}
double LambdaLR::rate(int64_t i, double base) const { return base * factor_(i); }

MultiplicativeLR::MultiplicativeLR(Optimizer& optimizer, std::function<double(int64_t)> factor, SourceLocation at)
    : Schedule(optimizer, at), factor_(std::move(factor)) {
  demand(static_cast<bool>(factor_), "MultiplicativeLR", "there is no function", at);
  set_iteration(0, at);
}
double MultiplicativeLR::rate(int64_t iteration, double base) const {
  for (int64_t i = 1; i <= iteration; ++i) base *= factor_(i);
  return base;
}

}  // namespace fulgurite::optim
