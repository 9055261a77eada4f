#include <algorithm>
#include <cmath>

#include <fulgurite/autograd.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>
#include <fulgurite/optim.h>

#include "nn/optimizer_settings.h"
#include "ops/core/dispatch.h"
#include "ops/core/precision.h"
#include "support/text/text.h"

namespace fulgurite::optim {

namespace {

// f64 if a gradient is, else f32: the norm of 16-bit gradients may exceed their range.
Dtype norm_dtype(const std::vector<Tensor>& gradients) {
  const bool any_f64 = std::any_of(gradients.begin(), gradients.end(),
                                   [](const Tensor& gradient) { return gradient.dtype() == Dtype::f64; });
  return any_f64 ? Dtype::f64 : Dtype::f32;
}

// The norm of all gradients together.
Tensor total_norm(const std::vector<Tensor>& gradients, SourceLocation at) {
  const Dtype dtype = norm_dtype(gradients);
  std::vector<Tensor> norms;
  for (const Tensor& gradient : gradients) norms.push_back(linalg::vector_norm(gradient, 2, {}, false, dtype, at));
  if (norms.empty()) return zeros({}, {.dtype = dtype}, at);
  const Tensor all = stack(norms, 0, at);
  return linalg::vector_norm(all, 2, {}, false, {}, at);
}

// The factor that the gradients are multiplied by.
Tensor clip_factor(const Tensor& norm, double max_norm, SourceLocation at) {
  const Tensor positive = add(norm, 1e-6, 1, at);
  const Tensor factor = div(max_norm, positive, {}, at);
  return clamp_max(factor, 1.0, at);
}

}  // namespace

Tensor clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, SourceLocation at) {
  check_limit(max_norm, "clip_grad_norm_", at);
  const NoGrad no_grad;
  std::vector<Tensor> gradients;
  for (const Tensor& parameter : parameters)
    if (const Tensor gradient = parameter.grad(at); gradient.defined()) gradients.push_back(gradient);
  Tensor norm = total_norm(gradients, at);
  if (gradients.empty()) return norm;
  const Tensor factor = clip_factor(norm, max_norm, at);
  for (const Tensor& gradient : gradients) mul_(gradient, factor, at);
  return norm;
}

std::pair<std::vector<Tensor>, Tensor> clip_grad_norm(const std::vector<Tensor>& gradients, double max_norm,
                                                      SourceLocation at) {
  check_limit(max_norm, "clip_grad_norm", at);
  std::vector<Tensor> present, out;
  for (const Tensor& gradient : gradients)
    if (gradient.defined()) present.push_back(gradient);
  const Tensor norm = total_norm(present, at);
  const Tensor factor = clip_factor(norm, max_norm, at);
  for (const Tensor& gradient : gradients) {
    if (!gradient.defined()) {
      out.emplace_back();
      continue;
    }
    const Tensor scaled = mul(gradient, factor, at);
    out.push_back(as_dtype(scaled, gradient.dtype(), at));  // without dimensions it has the factor's dtype
  }
  return {std::move(out), norm};
}

CosineSchedule::CosineSchedule(Optimizer& optimizer, const CosineOptions& options, SourceLocation at)
    : optimizer_(optimizer), options_(options) {
  check_settings(options, at);
  for (Optimizer::Group& group : optimizer.groups_) {
    Tensor& initial = group.initial_learning_rate;
    if (!initial.defined()) initial = full({}, group.learning_rate.item<double>(at), {.dtype = Dtype::f64}, at);
    peaks_.push_back(initial.item<double>(at));
  }
  set_iteration(0, at);
}

void CosineSchedule::set_iteration(int64_t iteration, SourceLocation at) {
  act_immediately("a step of a CosineSchedule", at);
  for (size_t i = 0; i < peaks_.size(); ++i)
    fill_(optimizer_.learning_rate_tensor(i), learning_rate(iteration, i, at), at);
  iteration_ = iteration;
}

double CosineSchedule::learning_rate(int64_t iteration, size_t group, SourceLocation at) const {
  if (iteration < 0)
    throw UserError(text::cat("CosineSchedule: the iteration must be at least 0, not ", iteration), at);
  if (group >= peaks_.size())
    throw UserError(text::cat("CosineSchedule: there is no group ", group, "; the optimizer had ", peaks_.size()), at);
  const double peak = peaks_[group], warmup = static_cast<double>(options_.warmup);
  if (iteration < options_.warmup) return peak * static_cast<double>(iteration + 1) / (warmup + 1);
  if (iteration >= options_.steps) return options_.min_lr;
  constexpr double pi = 3.14159265358979323846;
  const double progress =
      (static_cast<double>(iteration) - warmup) / static_cast<double>(options_.steps - options_.warmup);
  return options_.min_lr + 0.5 * (1 + std::cos(pi * progress)) * (peak - options_.min_lr);
}

std::map<std::string, Tensor> CosineSchedule::state_dict() const {
  return {{"iteration", full({}, iteration_, {.dtype = Dtype::i64})}, {"initial_lr", tensor(peaks_)}};
}

void CosineSchedule::load_state_dict(const std::map<std::string, Tensor>& state, SourceLocation at) {
  for (const char* name : {"iteration", "initial_lr"})
    if (!state.contains(name))
      throw UserError(text::cat("CosineSchedule::load_state_dict(): there is no \"", name, "\""), at);
  const Tensor peaks = state.at("initial_lr").to(Dtype::f64, at);
  if (peaks.ndim() != 1 || peaks.numel() != static_cast<int64_t>(peaks_.size()))
    throw UserError(text::cat("CosineSchedule::load_state_dict(): initial_lr has shape ", peaks.shape(),
                              "; the optimizer has ", peaks_.size(), " groups"),
                    at);
  const std::vector<double> rates = peaks.to_vector<double>(at);
  for (const double rate : rates) check_rate(rate, "CosineSchedule::load_state_dict()", "initial_lr", at);
  peaks_ = rates;
  set_iteration(state.at("iteration").item<int64_t>(at), at);
}

}  // namespace fulgurite::optim
