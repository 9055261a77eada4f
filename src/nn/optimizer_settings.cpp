#include "nn/optimizer_settings.h"

#include <cmath>

#include <fulgurite/error.h>

#include "support/text/text.h"

namespace fulgurite::optim {

namespace {

[[noreturn]] void refuse(std::string_view operation, std::string_view name, double value, std::string_view demand,
                         SourceLocation at) {
  throw UserError(text::cat(operation, ": invalid ", name, ": ", value, "; it must be ", demand), at);
}

void check_not_negative(double value, std::string_view operation, std::string_view name, SourceLocation at) {
  if (!(value >= 0 && std::isfinite(value))) refuse(operation, name, value, "a finite number of at least 0", at);
}

void check_beta(double beta, std::string_view operation, std::string_view name, SourceLocation at) {
  if (!(beta >= 0 && beta < 1)) refuse(operation, name, beta, "from 0 to below 1", at);
}

template <class Options>
void check_adam(const Options& options, std::string_view operation, SourceLocation at) {
  check_rate(options.lr, operation, "learning rate lr", at);
  check_beta(options.betas.first, operation, "beta parameter at index 0", at);
  check_beta(options.betas.second, operation, "beta parameter at index 1", at);
  check_not_negative(options.eps, operation, "epsilon value eps", at);
  check_not_negative(options.weight_decay, operation, "weight_decay value", at);
}

}  // namespace

void check_rate(double rate, std::string_view operation, std::string_view name, SourceLocation at) {
  check_not_negative(rate, operation, name, at);
}

void check_settings(const AdamOptions& options, SourceLocation at) { check_adam(options, "Adam", at); }
void check_settings(const AdamWOptions& options, SourceLocation at) { check_adam(options, "AdamW", at); }

void check_settings(const SGDOptions& options, SourceLocation at) {
  check_rate(options.lr, "SGD", "learning rate lr", at);
  check_not_negative(options.momentum, "SGD", "momentum value", at);
  check_not_negative(options.weight_decay, "SGD", "weight_decay value", at);
  if (!std::isfinite(options.dampening)) refuse("SGD", "dampening value", options.dampening, "a finite number", at);
  if (options.nesterov && (options.momentum == 0 || options.dampening != 0))
    throw UserError(
        text::cat("SGD: Nesterov momentum requires a momentum and zero dampening, not momentum ", options.momentum,
                  " and dampening ", options.dampening, "; set them, or nesterov to false"),
        at);
}

void check_settings(const CosineOptions& options, SourceLocation at) {
  if (options.warmup < 0 || options.steps < options.warmup)
    throw UserError("CosineSchedule: steps must be at least warmup, and both not negative", at);
  check_rate(options.min_lr, "CosineSchedule", "min_lr", at);
}

void check_limit(double max_norm, std::string_view operation, SourceLocation at) {
  if (!(max_norm >= 0)) refuse(operation, "max_norm", max_norm, "a number of at least 0", at);
}

}  // namespace fulgurite::optim
