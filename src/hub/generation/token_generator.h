#pragma once
#include <string_view>
#include <vector>

#include <fulgurite/hub/generate.h>

#include "hub/generation/cached_model.h"

namespace fulgurite {

struct TokenGenerator::State {
  generation::LanguageModel model;
  generation::CachedModel cached_model;
  std::vector<int64_t> end_tokens;
  std::vector<int64_t> cached{};  // the tokens whose keys and values are in the cache
  Tensor guessed{};               // the scores after the last tokens of `cached`, a row each, if they were guessed

  /// The scores after `tokens`. The last token is always computed.
  Tensor advance(std::span<const int64_t> tokens);
  /// `advance`, which also computes the tokens that prompt lookup guesses. The next calls find their scores if the
  /// guesses were right. The bits are those of `advance`.
  Tensor advance_guessing(std::span<const int64_t> tokens, const GenerateOptions& options);
  std::vector<int64_t> guess(std::span<const int64_t> tokens, const GenerateOptions& options) const;
};

namespace generation {

/// The number of tokens at the beginning that two texts share.
size_t shared_length(std::span<const int64_t> a, std::span<const int64_t> b);
/// UserError for negative tokens; `name` says whose they are.
void check_not_negative(std::string_view name, std::span<const int64_t> tokens);
/// UserError for a prompt without tokens, with negative ones, or longer than the model's longest text (0: no limit).
void check_prompt(std::span<const int64_t> prompt, int64_t max_length);

}  // namespace generation

}  // namespace fulgurite
