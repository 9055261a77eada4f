#pragma once
#include <cmath>
#include <string_view>

#include <fulgurite/error.h>
#include <fulgurite/optimizers.h>

#include "nn/optimizer_settings.h"
#include "support/text/text.h"

// The names of the optimizers that have a class template, and the checks of their settings.
namespace fulgurite::optim {

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
template <>
constexpr std::string_view name_of<AdafactorOptions> = "Adafactor";

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

/// Throws UserError, which names the optimizer, for settings that make no sense.
template <class Options>
void check(const Options& o, SourceLocation at) {
  const Settings settings(name_of<Options>, at);
  settings.not_negative("learning rate lr", o.lr);
  if constexpr (requires { o.weight_decay; }) settings.not_negative("weight_decay value", o.weight_decay);
  if constexpr (requires { o.eps.second; }) {
    if (o.eps.first) settings.not_negative("epsilon value eps.first", *o.eps.first);
    settings.not_negative("epsilon value eps.second", o.eps.second);
  } else if constexpr (requires { o.eps; }) {
    settings.not_negative("epsilon value eps", o.eps);
  }
  if constexpr (requires { o.beta2_decay; })
    if (!(o.beta2_decay <= 0)) settings.refuse("beta2_decay", o.beta2_decay, "at most 0");
  if constexpr (requires { o.d; })
    if (!(o.d >= 1)) settings.refuse("clipping threshold d", o.d, "at least 1");
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

}  // namespace fulgurite::optim
