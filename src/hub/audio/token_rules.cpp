#include "hub/audio/token_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "hub/generation/sampler.h"

namespace fulgurite::hub {

namespace {

constexpr float forbidden = -std::numeric_limits<float>::infinity();

// The scores of the tokens [begin, end), as far as there are any.
std::span<float> range(std::vector<float>& scores, int64_t begin, int64_t end) {
  const auto size = static_cast<int64_t>(scores.size());
  const int64_t first = std::clamp<int64_t>(begin, 0, size), last = std::clamp<int64_t>(end, first, size);
  return {scores.data() + first, static_cast<size_t>(last - first)};
}

void forbid(std::vector<float>& scores, int64_t begin, int64_t end) {
  std::ranges::fill(range(scores, begin, end), forbidden);
}

// The first time that may come next: after a pair, or as the first of one, a later one than the last.
int64_t earliest_time(std::span<const int64_t> generated, const SpeechSettings& settings, bool is_second) {
  for (size_t i = generated.size(); i-- > 0;)
    if (settings.is_time(generated[i])) return generated[i] + (is_second ? 0 : 1);
  return *settings.no_timestamps + 1;
}

// Times come in pairs, except at the beginning and before the end of the text.
void pair_times(std::vector<float>& scores, std::span<const int64_t> generated, const SpeechSettings& settings) {
  const auto all = static_cast<int64_t>(scores.size()), first = *settings.no_timestamps + 1;
  const size_t count = generated.size();
  const bool is_after_time = count >= 1 && settings.is_time(generated[count - 1]);
  const bool is_after_pair = is_after_time && (count < 2 || settings.is_time(generated[count - 2]));
  if (is_after_pair) forbid(scores, first, all);
  else if (is_after_time) forbid(scores, 0, settings.end.front());
  forbid(scores, first, earliest_time(generated, settings, is_after_time && !is_after_pair));
}

double log_of_sum(std::span<const float> scores, double largest) {
  double sum = 0;
  for (const float score : scores) sum += std::exp(static_cast<double>(score) - largest);
  return largest + std::log(sum);
}

// A time comes next if all of them together are more probable than any other token.
void prefer_times(std::vector<float>& scores, int64_t first) {
  const std::span<float> times = range(scores, first, static_cast<int64_t>(scores.size()));
  const std::span<float> others = range(scores, 0, first);
  if (times.empty() || others.empty()) return;
  const float largest_time = std::ranges::max(times), largest_other = std::ranges::max(others);
  if (largest_time == forbidden) return;
  if (log_of_sum(times, largest_time) > largest_other) std::ranges::fill(others, forbidden);
}

void apply_times(std::vector<float>& scores, std::span<const int64_t> generated, const SpeechSettings& settings) {
  const int64_t first = *settings.no_timestamps + 1;
  forbid(scores, first - 1, first);
  pair_times(scores, generated, settings);
  if (generated.empty()) {
    forbid(scores, 0, first);
    if (settings.max_initial_time)
      forbid(scores, first + *settings.max_initial_time + 1, static_cast<int64_t>(scores.size()));
  }
  prefer_times(scores, first);
}

}  // namespace

void apply_token_rules(std::vector<float>& scores, std::span<const int64_t> generated, const SpeechSettings& settings,
                       bool has_times) {
  if (generated.empty()) generation::forbid_tokens(scores, settings.begin_suppress);
  generation::forbid_tokens(scores, settings.suppress);
  if (has_times) apply_times(scores, generated, settings);
  else if (settings.no_timestamps) forbid(scores, *settings.no_timestamps + 1, static_cast<int64_t>(scores.size()));
}

}  // namespace fulgurite::hub
