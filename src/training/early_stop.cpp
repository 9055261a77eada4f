#include <cmath>
#include <limits>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>
#include <fulgurite/training.h>

#include "support/text/text.h"

namespace fulgurite::training {

EarlyStop::EarlyStop(int64_t patience, double min_change, bool maximize, SourceLocation at)
    : patience_(patience),
      min_change_(min_change),
      best_(std::numeric_limits<double>::quiet_NaN()),
      maximize_(maximize) {
  if (patience < 1) throw UserError(text::cat("training::EarlyStop: patience must be at least 1, not ", patience), at);
  if (!(min_change >= 0))
    throw UserError(text::cat("training::EarlyStop: min_change must not be negative: ", min_change), at);
}

bool EarlyStop::update(double measure) {
  const double gain = maximize_ ? measure - best_ : best_ - measure;
  const bool is_best = !std::isnan(measure) && (std::isnan(best_) || gain > min_change_);
  if (is_best) best_ = measure;
  since_best_ = is_best ? 0 : since_best_ + 1;
  return is_best;
}

std::map<std::string, Tensor> EarlyStop::state_dict() const {
  return {{"best", tensor(best_, {.dtype = Dtype::f64})}, {"since_best", tensor(since_best_)}};
}

void EarlyStop::load_state_dict(const std::map<std::string, Tensor>& state, SourceLocation at) {
  const auto best = state.find("best"), since_best = state.find("since_best");
  if (best == state.end() || since_best == state.end())
    throw UserError("training::EarlyStop: a state holds best and since_best", at);
  best_ = best->second.item<double>(at);
  since_best_ = since_best->second.item<int64_t>(at);
}

}  // namespace fulgurite::training
