#pragma once
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <fulgurite/hub/generate.h>

namespace fulgurite::generation {

/// Throws UserError if an option is out of range.
void check_options(const GenerateOptions& options);

/// Chooses tokens by their scores.
class Sampler {
 public:
  Sampler(const GenerateOptions& options, std::vector<int64_t> end_tokens);
  /// Chooses the token after `tokens`, of which the last `generated` were chosen. Scores of -infinity are not chosen.
  GeneratedToken choose(std::vector<float> scores, std::span<const int64_t> tokens, int64_t generated);

 private:
  GenerateOptions options_;
  std::vector<int64_t> end_tokens_;
  std::mt19937_64 random_;
};

// The steps of `choose`, in their order. They set scores to -infinity.
void penalize_repetition(std::vector<float>& scores, std::span<const int64_t> tokens, double penalty);
void penalize_generated(std::vector<float>& scores, std::span<const int64_t> generated, double frequency,
                        double presence);
void add_bias(std::vector<float>& scores, std::span<const std::pair<int64_t, double>> bias);
void forbid_repeated_ngrams(std::vector<float>& scores, std::span<const int64_t> tokens, int64_t size);
void forbid_tokens(std::vector<float>& scores, std::span<const int64_t> tokens);
void keep_top_k(std::vector<float>& scores, int64_t k);
void keep_top_p(std::vector<float>& scores, double p);
void keep_min_p(std::vector<float>& scores, double p);
void keep_typical(std::vector<float>& scores, double p);
/// The tokens of the highest scores, with the logarithms of their probabilities.
std::vector<TokenLogprob> top_logprobs(std::span<const float> scores, int64_t count);
/// The probabilities of scores; those of -infinity have 0.
std::vector<double> softmax(std::span<const float> scores);

}  // namespace fulgurite::generation
