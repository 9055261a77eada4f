#include <fulgurite/grad_scaler.h>

#include <fulgurite/autograd.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "support/text/text.h"

namespace fulgurite {
namespace optim {

GradScaler::GradScaler(const GradScalerOptions& options, SourceLocation at)
    : options_(options), scale_(options.init_scale) {
  const auto demand = [&](bool holds, const char* what, double value) {
    if (!holds) throw UserError(text::cat("GradScaler: ", what, ", got ", value), at);
  };
  demand(options.init_scale > 0, "init_scale must be positive", options.init_scale);
  demand(options.growth_factor > 1, "growth_factor must be above 1", options.growth_factor);
  demand(options.backoff_factor > 0 && options.backoff_factor < 1, "backoff_factor must be between 0 and 1",
         options.backoff_factor);
  demand(options.growth_interval > 0, "growth_interval must be positive", static_cast<double>(options.growth_interval));
}

Tensor GradScaler::scale(const Tensor& loss) const {
  if (!loss.defined()) throw UserError("GradScaler::scale() of an undefined tensor");
  act_immediately("GradScaler::scale()", {});  // the scale differs between calls
  return options_.enabled ? loss * scale_ : loss;
}

void GradScaler::unscale_(Optimizer& optimizer, SourceLocation at) {
  if (!options_.enabled) return;
  act_immediately("GradScaler::unscale_()", at);
  const auto [seen, is_new] = seen_.try_emplace(&optimizer);
  if (!is_new)
    throw UserError(seen->second.is_stepped ? "GradScaler::unscale_() after step(); call update() after each step"
                                            : "GradScaler::unscale_() a second time; call update() after each step",
                    at);
  const NoGrad no_grad;
  for (const Tensor& parameter : optimizer.parameters()) {
    const Tensor gradient = parameter.grad(at);
    if (!gradient.defined()) continue;
    gradient.mul_(1 / scale_);
    const Tensor finite = isfinite(gradient);
    const Tensor all_finite = all(finite);
    seen->second.is_finite = seen->second.is_finite && all_finite.item<bool>();
  }
}

bool GradScaler::step(Optimizer& optimizer, SourceLocation at) {
  if (!options_.enabled) {
    optimizer.step(at);
    return true;
  }
  const auto found = seen_.find(&optimizer);
  if (found != seen_.end() && found->second.is_stepped)
    throw UserError("GradScaler::step() a second time; call update() after each step", at);
  if (found == seen_.end()) unscale_(optimizer, at);
  Seen& seen = seen_[&optimizer];
  seen.is_stepped = true;
  if (seen.is_finite) optimizer.step(at);
  return seen.is_finite;
}

void GradScaler::update() {
  act_immediately("GradScaler::update()", {});
  bool is_finite = true;
  for (const auto& [optimizer, seen] : seen_) is_finite = is_finite && seen.is_finite;
  const bool is_unused = seen_.empty();
  seen_.clear();
  if (is_unused) return;
  if (!is_finite) {
    scale_ *= options_.backoff_factor;
    growth_tracker_ = 0;
  } else if (++growth_tracker_ == options_.growth_interval) {
    scale_ *= options_.growth_factor;
    growth_tracker_ = 0;
  }
}

std::map<std::string, Tensor> GradScaler::state_dict() const {
  return {{"scale", full({}, scale_, {.dtype = Dtype::f64})},
          {"growth_tracker", full({}, growth_tracker_, {.dtype = Dtype::i64})}};
}

void GradScaler::load_state_dict(const std::map<std::string, Tensor>& state, SourceLocation at) {
  for (const char* name : {"scale", "growth_tracker"})
    if (!state.contains(name))
      throw UserError(text::cat("GradScaler::load_state_dict(): there is no \"", name, "\""), at);
  const double scale = state.at("scale").item<double>();
  if (!(scale > 0))
    throw UserError(text::cat("GradScaler::load_state_dict(): scale must be positive, got ", scale), at);
  scale_ = scale;
  growth_tracker_ = state.at("growth_tracker").item<int64_t>();
}

}  // namespace optim
}  // namespace fulgurite
