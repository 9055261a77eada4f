#include <cmath>

#include <fulgurite/autograd.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>
#include <fulgurite/optim.h>

#include "ops/dispatch.h"

namespace fulgurite::optim {

namespace {

// The norm of all gradients together.
Tensor total_norm(const std::vector<Tensor>& gradients, SourceLocation at) {
  std::vector<Tensor> norms;
  for (const Tensor& gradient : gradients) norms.push_back(linalg::vector_norm(gradient, 2, {}, false, Dtype::f32, at));
  if (norms.empty()) return zeros({}, {.dtype = Dtype::f32}, at);
  const Tensor all = stack(norms, 0, at);
  return linalg::vector_norm(all, 2, {}, false, {}, at);
}

// What the gradients are multiplied with.
Tensor clip_factor(const Tensor& norm, double max_norm, SourceLocation at) {
  const Tensor positive = add(norm, 1e-6, 1, at);
  const Tensor factor = div(max_norm, positive, {}, at);
  return clamp_max(factor, 1.0, at);
}

}  // namespace

Tensor clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, SourceLocation at) {
  const NoGrad no_grad;
  std::vector<Tensor> gradients;
  for (const Tensor& parameter : parameters)
    if (const Tensor gradient = parameter.grad(); gradient.defined()) gradients.push_back(gradient);
  const Tensor norm = total_norm(gradients, at);
  if (gradients.empty()) return norm;
  const Tensor factor = clip_factor(norm, max_norm, at);
  for (const Tensor& gradient : gradients) mul_(gradient, factor, at);
  return norm;
}

std::pair<std::vector<Tensor>, Tensor> clip_grad_norm(const std::vector<Tensor>& gradients, double max_norm,
                                                      SourceLocation at) {
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
    out.push_back(scaled);
  }
  return {std::move(out), norm};
}

CosineSchedule::CosineSchedule(Optimizer& optimizer, const CosineOptions& options)
    : optimizer_(optimizer), options_(options) {
  if (options.warmup < 0 || options.steps < options.warmup)
    throw UserError("CosineSchedule: steps must be at least warmup, and both not negative");
  for (size_t i = 0; i < optimizer.group_count(); ++i) peaks_.push_back(optimizer.learning_rate(i));
  set_iteration(0);
}

void CosineSchedule::set_iteration(int64_t iteration) {
  act_immediately("a step of a CosineSchedule", {});
  iteration_ = iteration;
  for (size_t i = 0; i < peaks_.size(); ++i) optimizer_.set_learning_rate(i, learning_rate(iteration, i));
}

double CosineSchedule::learning_rate(int64_t iteration, size_t group) const {
  const double peak = peaks_[group], warmup = static_cast<double>(options_.warmup);
  if (iteration < options_.warmup) return peak * static_cast<double>(iteration + 1) / (warmup + 1);
  if (iteration >= options_.steps) return options_.min_lr;
  constexpr double pi = 3.14159265358979323846;
  const double progress =
      (static_cast<double>(iteration) - warmup) / static_cast<double>(options_.steps - options_.warmup);
  return options_.min_lr + 0.5 * (1 + std::cos(pi * progress)) * (peak - options_.min_lr);
}

}  // namespace fulgurite::optim
