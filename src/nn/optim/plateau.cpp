// The schedule that follows a measure.
#include <cmath>
#include <limits>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>
#include <fulgurite/schedules.h>

#include "nn/optim/learning_rates.h"
#include "nn/optimizer_settings.h"
#include "ops/core/dispatch.h"
#include "support/text/text.h"

namespace fulgurite::optim {

ReduceLROnPlateau::ReduceLROnPlateau(Optimizer& optimizer, const ReduceLROnPlateauOptions& options, SourceLocation at)
    : optimizer_(optimizer), options_(options) {
  if (!(options.factor >= 0 && options.factor < 1))
    throw UserError("ReduceLROnPlateau: factor must be from 0 to below 1", at);
  if (options.mode != "min" && options.mode != "max")
    throw UserError("ReduceLROnPlateau: mode must be \"min\" or \"max\"", at);
  if (options.threshold_mode != "rel" && options.threshold_mode != "abs")
    throw UserError("ReduceLROnPlateau: threshold_mode must be \"rel\" or \"abs\"", at);
  check_rate(options.min_lr, "ReduceLROnPlateau", "min_lr", at);
  best_ = options.mode == "min" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}

bool ReduceLROnPlateau::improves(double measure) const {
  const bool is_min = options_.mode == "min";
  const double margin = options_.threshold_mode == "rel" ? best_ * options_.threshold : options_.threshold;
  return is_min ? measure < best_ - margin : measure > best_ + margin;
}

void ReduceLROnPlateau::step(double measure, SourceLocation at) {
  act_immediately("a step of ReduceLROnPlateau", at);
  const bool is_better =
      std::isinf(best_) ? (options_.mode == "min" ? measure < best_ : measure > best_) : improves(measure);
  if (is_better) {
    best_ = measure;
    bad_ = 0;
  } else {
    ++bad_;
  }
  if (resting_ > 0) {
    --resting_;
    bad_ = 0;
  }
  if (bad_ <= options_.patience) return;
  for (size_t group = 0; group < optimizer_.group_count(); ++group) {
    const double before = optimizer_.learning_rate(group), after = std::max(before * options_.factor, options_.min_lr);
    if (before - after > options_.eps) optimizer_.set_learning_rate(group, after, at);
  }
  resting_ = options_.cooldown;
  bad_ = 0;
}

std::vector<double> ReduceLROnPlateau::last_lr() const { return learning_rates(optimizer_); }

std::map<std::string, Tensor> ReduceLROnPlateau::state_dict() const {
  return {{"best", full({}, best_, {.dtype = Dtype::f64})},
          {"num_bad_epochs", full({}, bad_, {.dtype = Dtype::i64})},
          {"cooldown_counter", full({}, resting_, {.dtype = Dtype::i64})}};
}

void ReduceLROnPlateau::load_state_dict(const std::map<std::string, Tensor>& state, SourceLocation at) {
  for (const char* name : {"best", "num_bad_epochs", "cooldown_counter"})
    if (!state.contains(name))
      throw UserError(text::cat("ReduceLROnPlateau::load_state_dict(): there is no \"", name, "\""), at);
  best_ = state.at("best").item<double>(at);
  bad_ = state.at("num_bad_epochs").item<int64_t>(at);
  resting_ = state.at("cooldown_counter").item<int64_t>(at);
}

}  // namespace fulgurite::optim
