// The schedule of averaged parameters.
#include <cmath>
#include <numbers>

#include <fulgurite/averaged_model.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "nn/optim/learning_rates.h"
#include "nn/optimizer_settings.h"
#include "ops/core/dispatch.h"
#include "support/text/text.h"

namespace fulgurite::optim {

SWALR::SWALR(Optimizer& optimizer, const SWALROptions& options, SourceLocation at)
    : optimizer_(optimizer), options_(options) {
  check_rate(options.swa_lr, "SWALR", "swa_lr", at);
  if (options.anneal_epochs < 0) throw UserError("SWALR: anneal_epochs must be at least 0", at);
  if (options.anneal_strategy != "cos" && options.anneal_strategy != "linear")
    throw UserError("SWALR: anneal_strategy must be \"cos\" or \"linear\"", at);
  if (options.anneal_epochs > 0) return;
  starts_ = last_lr();
  set_rates(at);
}

void SWALR::step(SourceLocation at) {
  act_immediately("a step of SWALR", at);
  if (starts_.empty()) starts_ = last_lr();
  ++iteration_;
  set_rates(at);
}

void SWALR::set_rates(SourceLocation at) {
  const double part = iteration_ >= options_.anneal_epochs
                          ? 1
                          : static_cast<double>(iteration_) / static_cast<double>(options_.anneal_epochs);
  const double share = options_.anneal_strategy == "cos" ? (1 - std::cos(std::numbers::pi * part)) / 2 : part;
  for (size_t group = 0; group < starts_.size(); ++group)
    optimizer_.set_learning_rate(group, options_.swa_lr * share + starts_[group] * (1 - share), at);
}

std::vector<double> SWALR::last_lr() const { return learning_rates(optimizer_); }

std::map<std::string, Tensor> SWALR::state_dict() const {
  return {{"iteration", full({}, iteration_, {.dtype = Dtype::i64})},
          {"initial_lr", tensor(starts_, {.dtype = Dtype::f64})}};
}

void SWALR::load_state_dict(const std::map<std::string, Tensor>& state, SourceLocation at) {
  for (const char* name : {"iteration", "initial_lr"})
    if (!state.contains(name)) throw UserError(text::cat("SWALR::load_state_dict(): there is no \"", name, "\""), at);
  std::vector<double> starts = state.at("initial_lr").to_vector<double>(at);
  const int64_t iteration = state.at("iteration").item<int64_t>(at);
  if (iteration < 0) throw UserError("SWALR::load_state_dict(): iteration is below 0", at);
  if (starts.size() != optimizer_.group_count() && (iteration > 0 || !starts.empty()))
    throw UserError(text::cat("SWALR::load_state_dict(): initial_lr has ", starts.size(), " rates, and the optimizer ",
                              optimizer_.group_count(), " groups"),
                    at);
  starts_ = std::move(starts);
  iteration_ = iteration;
  set_rates(at);
}

}  // namespace fulgurite::optim
