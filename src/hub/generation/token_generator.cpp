#include "hub/generation/token_generator.h"

#include <algorithm>

#include <fulgurite/error.h>
#include <fulgurite/extend.h>
#include <fulgurite/operators.h>

#include "hub/generation/prompt_lookup.h"
#include "hub/generation/sampler.h"
#include "support/text/text.h"

namespace fulgurite {

namespace generation {

size_t shared_length(std::span<const int64_t> a, std::span<const int64_t> b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

void check_not_negative(std::string_view name, std::span<const int64_t> tokens) {
  const auto negative = std::find_if(tokens.begin(), tokens.end(), [](int64_t token) { return token < 0; });
  if (negative != tokens.end())
    throw UserError(text::cat("generate: the ", name, " has the token ", *negative, ", which is negative"));
}

void check_prompt(std::span<const int64_t> prompt, int64_t max_length) {
  if (prompt.empty()) throw UserError("generate: the prompt has no tokens; begin it with the model's start token");
  check_not_negative("prompt", prompt);
  const auto length = static_cast<int64_t>(prompt.size());
  if (max_length > 0 && length > max_length)
    throw UserError(text::cat("generate: the prompt has ", length, " tokens, the model's longest text ", max_length));
}

}  // namespace generation

Tensor TokenGenerator::State::advance(std::span<const int64_t> tokens) {
  guessed = {};
  if (cached_model.set_length(0, static_cast<int64_t>(tokens.size()))) cached.clear();
  cached.resize(std::min(generation::shared_length(cached, tokens), tokens.size() - 1));
  Tensor scores;
  while (cached.size() < tokens.size()) {
    const std::span<const int64_t> rest = tokens.subspan(cached.size());
    const auto [used, last] = cached_model.compute(0, rest, static_cast<int64_t>(cached.size()));
    cached.insert(cached.end(), rest.begin(), rest.begin() + used);
    scores = last;
  }
  return scores;
}

std::vector<int64_t> TokenGenerator::State::guess(std::span<const int64_t> tokens,
                                                  const GenerateOptions& options) const {
  const auto begin = static_cast<int64_t>(tokens.size()) - 1;
  const int64_t reached = begin + generation::CachedModel::max_few_rows;
  const bool is_next = generation::shared_length(cached, tokens) >= tokens.size() - 1;
  const auto crosses = [&](int64_t length) { return length > 0 && begin < length && reached > length; };
  if (options.prompt_lookup_tokens == 0 || !is_next || crosses(model.max_length) || crosses(model.long_length))
    return {};
  return generation::look_up(tokens, options.prompt_lookup_ngram, options.prompt_lookup_tokens);
}

Tensor TokenGenerator::State::advance_guessing(std::span<const int64_t> tokens, const GenerateOptions& options) {
  if (cached_model.set_length(0, static_cast<int64_t>(tokens.size()))) {
    cached.clear();
    guessed = {};
  }
  const size_t first = guessed.defined() ? cached.size() - static_cast<size_t>(guessed.size(0)) : 0;
  const bool is_computed = guessed.defined() && generation::shared_length(cached, tokens) == tokens.size();
  if (is_computed && tokens.size() > first) return select(guessed, 0, static_cast<int64_t>(tokens.size() - 1 - first));
  const std::vector<int64_t> guesses = guess(tokens, options);
  if (guesses.empty()) return advance(tokens);
  cached.assign(tokens.begin(), tokens.end());
  cached.insert(cached.end(), guesses.begin(), guesses.end());
  const size_t last = tokens.size() - 1;
  guessed = cached_model.compute_all(0, std::span<const int64_t>(cached).subspan(last), static_cast<int64_t>(last));
  return select(guessed, 0, 0);
}

// Named executors fuse every program, however few rows it has: a text has the same bits alone and among others.
JitOptions TokenGenerator::step_options() { return {.executors = default_executors()}; }

TokenGenerator::TokenGenerator(Step step, MakeCache make_cache, const Lengths& lengths,
                               std::vector<int64_t> end_tokens) {
  const generation::LanguageModel model{std::move(step), std::move(make_cache), lengths.max, lengths.long_text};
  state_ = std::make_shared<State>(State{model, {model, 1}, std::move(end_tokens)});
}

void TokenGenerator::forget() {
  state_->cached.clear();
  state_->guessed = {};
}

const std::vector<int64_t>& TokenGenerator::end_tokens() const { return state_->end_tokens; }

Tensor TokenGenerator::scores(std::span<const int64_t> tokens) {
  generation::check_prompt(tokens, state_->model.max_length);
  return state_->advance(tokens);
}

std::vector<int64_t> TokenGenerator::generate(std::span<const int64_t> prompt, const GenerateOptions& options,
                                              const std::function<bool(const GeneratedToken&)>& on_token) {
  generation::check_prompt(prompt, state_->model.max_length);
  std::vector<int64_t> ends = state_->end_tokens;
  ends.insert(ends.end(), options.stop_tokens.begin(), options.stop_tokens.end());
  generation::Sampler sampler(options, ends);
  std::vector<int64_t> tokens(prompt.begin(), prompt.end());
  for (int64_t count = 0; count < options.max_tokens; ++count) {
    if (static_cast<int64_t>(tokens.size()) == state_->model.max_length) break;
    const Tensor scores = state_->advance_guessing(tokens, options);
    const GeneratedToken next = sampler.choose(scores.to_vector<float>(), tokens, count);
    if (std::find(ends.begin(), ends.end(), next.id) != ends.end()) break;
    tokens.push_back(next.id);
    if (on_token && !on_token(next)) break;
  }
  return {tokens.begin() + static_cast<std::ptrdiff_t>(prompt.size()), tokens.end()};
}

}  // namespace fulgurite
