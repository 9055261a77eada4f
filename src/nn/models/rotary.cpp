#include <algorithm>
#include <cmath>
#include <numbers>

#include <fulgurite/error.h>
#include <fulgurite/models/rotary.h>

#include "support/text/text.h"

namespace fulgurite::models {

namespace {

constexpr double turn = 2 * std::numbers::pi;

std::vector<double> plain_frequencies(int64_t features, double base) {
  std::vector<double> out;
  for (int64_t i = 0; i < features; i += 2)
    out.push_back(1 / std::pow(base, static_cast<double>(i) / static_cast<double>(features)));
  return out;
}

// Waves longer than the training's sequences are stretched, short ones are unchanged, between them both are mixed
// (LLaMA 3.1).
double llama3_frequency(double frequency, const RotaryScaling& s) {
  const auto trained = static_cast<double>(s.original_block);
  const double wave = turn / frequency;
  if (wave > trained / s.low_frequency_factor) return frequency / s.factor;
  if (wave < trained / s.high_frequency_factor) return frequency;
  const double share = (trained / wave - s.low_frequency_factor) / (s.high_frequency_factor - s.low_frequency_factor);
  return (1 - share) * frequency / s.factor + share * frequency;
}

// The feature whose wave turns so often in the training's sequences.
double feature_of_turns(double turns, int64_t features, double base, const RotaryScaling& s) {
  const double wave = static_cast<double>(s.original_block) / (turns * turn);
  return static_cast<double>(features) * std::log(wave) / (2 * std::log(base));
}

// YaRN (Peng et al. 2023): features between two bounds are mixed from both frequencies.
void apply_yarn(std::vector<double>& frequencies, int64_t features, double base, const RotaryScaling& s) {
  double low = feature_of_turns(s.beta_fast, features, base, s),
         high = feature_of_turns(s.beta_slow, features, base, s);
  if (s.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(features - 1));
  if (low == high) high += 0.001;
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const double stretched = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    frequencies[i] = frequencies[i] / s.factor * stretched + frequencies[i] * (1 - stretched);
  }
}

double yarn_attention_factor(const RotaryScaling& s) {
  const auto magnitude = [&](double scale) { return s.factor <= 1 ? 1.0 : 0.1 * scale * std::log(s.factor) + 1.0; };
  if (s.attention_factor != 0) return s.attention_factor;
  return s.mscale != 0 && s.mscale_all_dim != 0 ? magnitude(s.mscale) / magnitude(s.mscale_all_dim) : magnitude(1);
}

// LongRoPE (Ding et al. 2024): each frequency has a divisor.
Tensor divided(const std::vector<double>& frequencies, const std::vector<double>& factors) {
  if (factors.size() != frequencies.size())
    throw UserError(text::cat("make_rotary: longrope needs ", frequencies.size(), " short and ", frequencies.size(),
                              " long factors, one for each pair of rotated features; a list has ", factors.size()));
  std::vector<double> out;
  for (size_t i = 0; i < factors.size(); ++i) out.push_back(frequencies[i] / factors[i]);
  return tensor(out).to(Dtype::f32);
}

RotaryEmbedding make_longrope(const std::vector<double>& frequencies, const RotaryScaling& s) {
  double magnitude = s.attention_factor;
  if (magnitude == 0)
    magnitude = s.factor <= 1 ? 1 : std::sqrt(1 + std::log(s.factor) / std::log(static_cast<double>(s.original_block)));
  const Tensor shorter = divided(frequencies, s.short_factors);
  const Tensor longer = divided(frequencies, s.long_factors);
  return {shorter, magnitude, longer, s.original_block};
}

void check(int64_t features, const RotaryScaling& scaling) {
  if (features < 2 || features % 2 != 0)
    throw UserError(text::cat("make_rotary: ", features, " features cannot be paired; rotate an even number of them"));
  const bool needs_block = scaling.kind == "llama3" || scaling.kind == "yarn" || scaling.kind == "longrope";
  if (needs_block && scaling.original_block < 1)
    throw UserError(text::cat("make_rotary: scaling of kind ", scaling.kind, " requires original_block"));
}

}  // namespace

RotaryEmbedding make_rotary(int64_t features, double base, const RotaryScaling& scaling) {
  check(features, scaling);
  std::vector<double> frequencies = plain_frequencies(features, base);
  if (scaling.kind == "longrope") return make_longrope(frequencies, scaling);
  double attention_factor = 1;
  if (scaling.kind == "linear") {
    for (double& frequency : frequencies) frequency /= scaling.factor;
  } else if (scaling.kind == "llama3") {
    for (double& frequency : frequencies) frequency = llama3_frequency(frequency, scaling);
  } else if (scaling.kind == "yarn") {
    apply_yarn(frequencies, features, base, scaling);
    attention_factor = yarn_attention_factor(scaling);
  } else if (scaling.kind != "default" && scaling.kind != "dynamic") {
    throw UserError(text::cat("make_rotary: rotary scaling of kind \"", scaling.kind,
                              "\" is not supported; there are default, linear, dynamic, llama3, yarn and longrope"));
  }
  const Tensor values = tensor(std::vector<double>(frequencies));
  return {.inv_freq = values.to(Dtype::f32), .attention_factor = attention_factor};
}

}  // namespace fulgurite::models
