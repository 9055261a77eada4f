// The method of Broyden, Fletcher, Goldfarb and Shanno with a limited memory.
#include <algorithm>
#include <cmath>

#include <fulgurite/autograd.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>
#include <fulgurite/optimizers.h>

#include "nn/optim/line_search.h"
#include "nn/optimizer_settings.h"
#include "support/text/text.h"

namespace fulgurite::optim {

LBFGS::LBFGS(const std::vector<Tensor>& parameters, const LBFGSOptions& options, SourceLocation at)
    : options_(options) {
  check_rate(options.lr, "LBFGS", "learning rate lr", at);
  if (options.max_iter < 1 || options.history_size < 1)
    throw UserError("LBFGS: max_iter and history_size must be at least 1", at);
  if (!options.line_search_fn.empty() && options.line_search_fn != "strong_wolfe")
    throw UserError(
        text::cat("LBFGS: line_search_fn must be \"strong_wolfe\" or empty, not \"", options.line_search_fn, "\""), at);
  add_group(options.lr);
  for (const Tensor& parameter : parameters) add_parameter(parameter, {});
}

void LBFGS::update(const Parameter&, const Tensor&, SourceLocation at) {
  throw UserError("LBFGS: step() needs a function that computes the loss and its gradients: optimizer.step(closure)",
                  at);
}

Tensor LBFGS::gathered_gradient(SourceLocation at) const {
  std::vector<Tensor> parts;
  for (const Tensor& parameter : parameters()) {
    const Tensor gradient = parameter.grad(at);
    parts.push_back(reshape(
        gradient.defined() ? gradient : zeros(Dims(parameter.shape()), {.dtype = parameter.dtype()}, at), {-1}, at));
  }
  return cat(parts, 0, at);
}

void LBFGS::move(const Tensor& direction, double length, SourceLocation at) const {
  Int first = 0;
  for (const Tensor& parameter : parameters()) {
    const Tensor part = narrow(direction, 0, first, parameter.numel(), at);
    const Tensor change = mul(reshape(part, Dims(parameter.shape()), at), length, at);
    copy_(parameter, add(parameter, change, 1, at), at);
    first = first + parameter.numel();
  }
}

Tensor LBFGS::direction(const Tensor& gradient, SourceLocation at) {
  if (iterations_ == 0) return neg(gradient, at);
  const Tensor change = sub(gradient, previous_gradient_, 1, at), step = mul(direction_, length_, at);
  const double product = dot(change, step, at).item<double>(at);
  if (product > 1e-10) {
    if (static_cast<int64_t>(steps_.size()) == options_.history_size) {
      gradient_changes_.erase(gradient_changes_.begin());
      steps_.erase(steps_.begin());
    }
    gradient_changes_.push_back(change);
    steps_.push_back(step);
    scale_ = product / dot(change, change, at).item<double>(at);
  }
  Tensor q = neg(gradient, at);
  std::vector<double> shares(steps_.size()), inverse(steps_.size());
  for (size_t i = steps_.size(); i-- > 0;) {
    inverse[i] = 1 / dot(gradient_changes_[i], steps_[i], at).item<double>(at);
    shares[i] = dot(steps_[i], q, at).item<double>(at) * inverse[i];
    q = add(q, gradient_changes_[i], -shares[i], at);
  }
  q = mul(q, scale_, at);
  for (size_t i = 0; i < steps_.size(); ++i) {
    const double share = dot(gradient_changes_[i], q, at).item<double>(at) * inverse[i];
    q = add(q, steps_[i], shares[i] - share, at);
  }
  return q;
}

Tensor LBFGS::step(const std::function<Tensor()>& closure, SourceLocation at) {
  const NoGrad no_grad;
  const auto evaluate = [&] {
    const EnableGrad enable_grad;
    return closure();
  };
  const auto largest = [&](const Tensor& x) { return amax(abs(x, at), {}, false, at).item<double>(at); };
  const int64_t max_evaluations = options_.max_eval.value_or(options_.max_iter * 5 / 4);
  Tensor first_loss = evaluate();
  if (parameters().empty()) return first_loss;
  double loss = first_loss.item<double>(at);
  Tensor gradient = gathered_gradient(at);
  if (largest(gradient) <= options_.tolerance_grad) return first_loss;
  const double rate = learning_rate(0);
  int64_t evaluations = 1;
  for (int64_t iteration = 1;; ++iteration) {
    direction_ = direction(gradient, at);
    previous_gradient_ = gradient.clone(at);
    const double previous_loss = loss;
    length_ =
        iterations_ == 0 ? std::min(1.0, 1 / sum(abs(gradient, at), {}, false, {}, at).item<double>(at)) * rate : rate;
    ++iterations_;
    const double slope = dot(gradient, direction_, at).item<double>(at);
    if (slope > -options_.tolerance_change) break;
    bool is_flat = false;
    if (!options_.line_search_fn.empty()) {
      std::vector<Tensor> start;
      for (const Tensor& parameter : parameters()) start.push_back(parameter.detach().clone(at));
      const auto return_to_start = [&] {
        const std::vector<Tensor> values = parameters();
        for (size_t i = 0; i < values.size(); ++i) copy_(values[i], start[i], at);
      };
      const auto point_at = [&](double length) {
        move(direction_, length, at);
        const double value = evaluate().item<double>(at);
        const Tensor here = gathered_gradient(at);
        return_to_start();
        return LinePoint{length, value, here, dot(here, direction_, at).item<double>(at)};
      };
      const LineSearchResult found = search_line(point_at, {0, loss, gradient, slope}, length_, largest(direction_),
                                                 options_.tolerance_change, max_evaluations - evaluations);
      length_ = found.point.length;
      loss = found.point.loss;
      gradient = found.point.gradient;
      evaluations += found.evaluations;
      move(direction_, length_, at);
      is_flat = largest(gradient) <= options_.tolerance_grad;
    } else {
      move(direction_, length_, at);
      if (iteration < options_.max_iter) {
        loss = evaluate().item<double>(at);
        gradient = gathered_gradient(at);
        is_flat = largest(gradient) <= options_.tolerance_grad;
        ++evaluations;
      }
    }
    if (iteration >= options_.max_iter || evaluations >= max_evaluations || is_flat) break;
    if (largest(direction_) * std::fabs(length_) <= options_.tolerance_change) break;
    if (std::fabs(loss - previous_loss) < options_.tolerance_change) break;
  }
  return first_loss;
}

std::vector<std::pair<std::string, Tensor>> LBFGS::more_state() const {
  if (!direction_.defined()) return {};
  std::vector<std::pair<std::string, Tensor>> out{{"more.d", direction_},
                                                  {"more.prev_flat_grad", previous_gradient_},
                                                  {"more.t", full({}, length_, {.dtype = Dtype::f64})},
                                                  {"more.H_diag", full({}, scale_, {.dtype = Dtype::f64})},
                                                  {"more.n_iter", full({}, iterations_, {.dtype = Dtype::i64})}};
  for (size_t i = 0; i < steps_.size(); ++i) {
    out.emplace_back(text::cat("more.old_dirs.", i), gradient_changes_[i]);
    out.emplace_back(text::cat("more.old_stps.", i), steps_[i]);
  }
  return out;
}

void LBFGS::load_more_state(const std::map<std::string, Tensor>& state, SourceLocation at) {
  gradient_changes_.clear();
  steps_.clear();
  direction_ = previous_gradient_ = Tensor();
  iterations_ = 0;
  if (!state.contains("more.d")) return;
  for (const char* name : {"more.prev_flat_grad", "more.t", "more.H_diag", "more.n_iter"})
    if (!state.contains(name)) throw UserError(text::cat("optimizer state ", name, " is missing"), at);
  direction_ = state.at("more.d").clone(at);
  previous_gradient_ = state.at("more.prev_flat_grad").clone(at);
  length_ = state.at("more.t").item<double>(at);
  scale_ = state.at("more.H_diag").item<double>(at);
  iterations_ = state.at("more.n_iter").item<int64_t>(at);
  for (size_t i = 0; state.contains(text::cat("more.old_stps.", i)); ++i) {
    gradient_changes_.push_back(state.at(text::cat("more.old_dirs.", i)).clone(at));
    steps_.push_back(state.at(text::cat("more.old_stps.", i)).clone(at));
  }
}

}  // namespace fulgurite::optim
