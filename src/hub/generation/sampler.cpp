#include "hub/generation/sampler.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include <fulgurite/error.h>

#include "hub/generation/cached_model.h"
#include "support/text/text.h"

namespace fulgurite::generation {

namespace {

constexpr float forbidden = -std::numeric_limits<float>::infinity();

void check_range(bool is_valid, const char* name, const char* range, double value) {
  if (!is_valid) throw UserError(text::cat("generate: ", name, " must be ", range, ", it is ", value));
}

// Indices, the highest scores first; equal scores by index.
std::vector<size_t> by_score(std::span<const float> scores) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  return order;
}

double log_of_sum(std::span<const float> scores) {
  const double highest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const float score : scores) sum += std::exp(static_cast<double>(score) - highest);
  return highest + std::log(sum);
}

int64_t highest(std::span<const float> scores) {
  return std::max_element(scores.begin(), scores.end()) - scores.begin();
}

int64_t draw(std::span<const float> scores, double uniform) {
  const std::vector<double> probabilities = softmax(scores);
  double rest = uniform;
  int64_t last = 0;
  for (size_t i = 0; i < probabilities.size(); ++i) {
    if (probabilities[i] == 0) continue;
    last = static_cast<int64_t>(i);
    rest -= probabilities[i];
    if (rest < 0) break;
  }
  return last;
}

void check_scores(std::span<const float> scores) {
  if (std::any_of(scores.begin(), scores.end(), [](float score) { return std::isnan(score); }))
    throw UserError("generate: the model's scores contain NaN");
  if (highest(scores) < 0 || scores[static_cast<size_t>(highest(scores))] == forbidden)
    throw UserError("generate: the options exclude every token");
}

}  // namespace

void check_options(const GenerateOptions& o) {
  check_range(o.max_tokens >= 0, "max_tokens", "at least 0", static_cast<double>(o.max_tokens));
  check_range(o.repetition_penalty > 0, "repetition_penalty", "positive", o.repetition_penalty);
  check_range(o.no_repeat_ngram_size >= 0, "no_repeat_ngram_size", "at least 0",
              static_cast<double>(o.no_repeat_ngram_size));
  check_range(std::isfinite(o.frequency_penalty), "frequency_penalty", "finite", o.frequency_penalty);
  check_range(std::isfinite(o.presence_penalty), "presence_penalty", "finite", o.presence_penalty);
  check_range(o.top_logprobs >= 0, "top_logprobs", "at least 0", static_cast<double>(o.top_logprobs));
  check_range(o.prompt_lookup_tokens >= 0 && o.prompt_lookup_tokens < CachedModel::max_few_rows, "prompt_lookup_tokens",
              "from 0 to 7", static_cast<double>(o.prompt_lookup_tokens));
  check_range(o.prompt_lookup_ngram >= 1, "prompt_lookup_ngram", "at least 1",
              static_cast<double>(o.prompt_lookup_ngram));
  for (const auto& [token, bias] : o.token_bias)
    check_range(bias < std::numeric_limits<double>::infinity(), "token_bias", "finite or -infinity", bias);
  check_range(o.temperature >= 0 && std::isfinite(o.temperature), "temperature", "at least 0", o.temperature);
  check_range(o.top_k >= 0, "top_k", "at least 0", static_cast<double>(o.top_k));
  check_range(o.top_p > 0 && o.top_p <= 1, "top_p", "above 0 and at most 1", o.top_p);
  check_range(o.min_p >= 0 && o.min_p <= 1, "min_p", "between 0 and 1", o.min_p);
  check_range(o.typical_p > 0 && o.typical_p <= 1, "typical_p", "above 0 and at most 1", o.typical_p);
}

std::vector<double> softmax(std::span<const float> scores) {
  const double total = log_of_sum(scores);
  std::vector<double> out(scores.size());
  for (size_t i = 0; i < scores.size(); ++i) out[i] = std::exp(static_cast<double>(scores[i]) - total);
  return out;
}

void penalize_repetition(std::vector<float>& scores, std::span<const int64_t> tokens, double penalty) {
  if (penalty == 1) return;
  const auto factor = static_cast<float>(penalty);
  for (const int64_t token : std::set<int64_t>(tokens.begin(), tokens.end())) {
    if (token < 0 || token >= static_cast<int64_t>(scores.size())) continue;
    float& score = scores[static_cast<size_t>(token)];
    score = score < 0 ? score * factor : score / factor;
  }
}

void penalize_generated(std::vector<float>& scores, std::span<const int64_t> generated, double frequency,
                        double presence) {
  if (frequency == 0 && presence == 0) return;
  std::map<int64_t, int64_t> counts;
  for (const int64_t token : generated) ++counts[token];
  for (const auto& [token, count] : counts)
    scores[static_cast<size_t>(token)] -= static_cast<float>(frequency * static_cast<double>(count) + presence);
}

void add_bias(std::vector<float>& scores, std::span<const std::pair<int64_t, double>> bias) {
  for (const auto& [token, value] : bias)
    if (token >= 0 && token < static_cast<int64_t>(scores.size()))
      scores[static_cast<size_t>(token)] += static_cast<float>(value);
}

void forbid_repeated_ngrams(std::vector<float>& scores, std::span<const int64_t> tokens, int64_t size) {
  const auto length = static_cast<int64_t>(tokens.size());
  if (size == 0 || length < size) return;
  const auto last = tokens.last(static_cast<size_t>(size - 1));
  for (int64_t i = 0; i + size <= length; ++i) {
    const auto earlier = tokens.subspan(static_cast<size_t>(i), static_cast<size_t>(size));
    if (std::equal(last.begin(), last.end(), earlier.begin())) forbid_tokens(scores, earlier.last(1));
  }
}

void forbid_tokens(std::vector<float>& scores, std::span<const int64_t> tokens) {
  for (const int64_t token : tokens)
    if (token >= 0 && token < static_cast<int64_t>(scores.size())) scores[static_cast<size_t>(token)] = forbidden;
}

void keep_top_k(std::vector<float>& scores, int64_t k) {
  if (k == 0 || k >= static_cast<int64_t>(scores.size())) return;
  std::vector<float> sorted = scores;
  const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(sorted.begin(), at, sorted.end(), std::greater<>());
  for (float& score : scores)
    if (score < *at) score = forbidden;
}

void keep_top_p(std::vector<float>& scores, double p) {
  if (p >= 1) return;
  const std::vector<double> probabilities = softmax(scores);
  double before = 0;
  for (const size_t i : by_score(scores)) {
    if (before >= p) scores[i] = forbidden;
    before += probabilities[i];
  }
}

void keep_min_p(std::vector<float>& scores, double p) {
  if (p <= 0) return;
  const std::vector<double> probabilities = softmax(scores);
  const double least = p * *std::max_element(probabilities.begin(), probabilities.end());
  for (size_t i = 0; i < scores.size(); ++i)
    if (probabilities[i] < least) scores[i] = forbidden;
}

void keep_typical(std::vector<float>& scores, double p) {
  if (p >= 1) return;
  const std::vector<double> probabilities = softmax(scores);
  double entropy = 0;
  for (const double probability : probabilities)
    if (probability > 0) entropy -= probability * std::log(probability);
  std::vector<float> nearness(scores.size(), forbidden);
  for (size_t i = 0; i < scores.size(); ++i)
    if (probabilities[i] > 0) nearness[i] = static_cast<float>(-std::abs(-std::log(probabilities[i]) - entropy));
  double before = 0;
  for (const size_t i : by_score(nearness)) {
    if (before >= p) scores[i] = forbidden;
    before += probabilities[i];
  }
}

std::vector<TokenLogprob> top_logprobs(std::span<const float> scores, int64_t count) {
  if (count == 0) return {};
  const double total = log_of_sum(scores);
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto end = order.begin() + std::min<std::ptrdiff_t>(count, std::ssize(order));
  std::partial_sort(order.begin(), end, order.end(),
                    [&](size_t a, size_t b) { return scores[a] > scores[b] || (scores[a] == scores[b] && a < b); });
  std::vector<TokenLogprob> out;
  for (auto at = order.begin(); at != end; ++at)
    out.push_back({static_cast<int64_t>(*at), static_cast<double>(scores[*at]) - total});
  return out;
}

Sampler::Sampler(const GenerateOptions& options, std::vector<int64_t> end_tokens)
    : options_(options), end_tokens_(std::move(end_tokens)), random_(options.seed) {
  check_options(options_);
}

GeneratedToken Sampler::choose(std::vector<float> scores, std::span<const int64_t> tokens, int64_t generated) {
  check_scores(scores);
  const double total = log_of_sum(scores);
  const std::vector<float> raw = scores;
  penalize_repetition(scores, tokens, options_.repetition_penalty);
  penalize_generated(scores, tokens.last(static_cast<size_t>(generated)), options_.frequency_penalty,
                     options_.presence_penalty);
  add_bias(scores, options_.token_bias);
  forbid_repeated_ngrams(scores, tokens, options_.no_repeat_ngram_size);
  forbid_tokens(scores, options_.suppress_tokens);
  if (generated < options_.min_tokens) forbid_tokens(scores, end_tokens_);
  check_scores(scores);
  int64_t id = 0;
  if (options_.temperature == 0) {
    id = highest(scores);
  } else {
    for (float& score : scores) score /= static_cast<float>(options_.temperature);
    keep_top_k(scores, options_.top_k);
    keep_top_p(scores, options_.top_p);
    keep_min_p(scores, options_.min_p);
    keep_typical(scores, options_.typical_p);
    id = draw(scores, std::ldexp(static_cast<double>(random_() >> 11), -53));
  }
  return {id, static_cast<double>(raw[static_cast<size_t>(id)]) - total, top_logprobs(raw, options_.top_logprobs)};
}

}  // namespace fulgurite::generation
