#include <algorithm>

#include <fulgurite/autograd_modes.h>
#include <fulgurite/error.h>
#include <fulgurite/hub/generate.h>
#include <fulgurite/operators.h>

#include "hub/generation/sampler.h"
#include "support/text/text.h"

namespace fulgurite {

namespace {

constexpr int64_t min_capacity = 256;
// Rows of one call of the model; fewer ones are padded, so that a prompt of any length requires four programs.
constexpr int64_t row_counts[] = {1, 8, 64, 512};

int64_t rows_for(int64_t remaining) {
  for (const int64_t rows : row_counts)
    if (remaining <= rows) return rows == 512 ? 64 : rows;
  return 512;
}

int64_t capacity_for(int64_t length) {
  int64_t capacity = min_capacity;
  while (capacity < length) capacity *= 2;
  return capacity;
}

bool contains(std::span<const int64_t> tokens, int64_t token) {
  return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
}

}  // namespace

struct TokenGenerator::State {
  Step step;
  MakeCache make_cache;
  std::vector<int64_t> end_tokens;
  Cache cache;
  int64_t capacity = 0;
  std::vector<int64_t> cached;  // the tokens whose keys and values are in the cache

  // Makes room for padded rows too.
  void reserve(int64_t length) {
    const int64_t needed = capacity_for(length);
    if (needed <= capacity) return;
    const Cache larger = make_cache(needed);
    const auto filled = static_cast<int64_t>(cached.size());
    for (size_t i = 0; filled > 0 && i < larger.keys.size(); ++i) {
      narrow(larger.keys[i], 2, 0, filled).copy_(narrow(cache.keys[i], 2, 0, filled));
      narrow(larger.values[i], 2, 0, filled).copy_(narrow(cache.values[i], 2, 0, filled));
    }
    cache = larger;
    capacity = needed;
  }

  // The scores after `tokens`. The last token is always computed.
  Tensor advance(std::span<const int64_t> tokens) {
    const auto same = std::mismatch(cached.begin(), cached.end(), tokens.begin(), tokens.end()).first - cached.begin();
    cached.resize(std::min(static_cast<size_t>(same), tokens.size() - 1));
    Tensor scores;
    while (cached.size() < tokens.size()) scores = advance_rows(tokens.subspan(cached.size()));
    return reshape(scores, {-1}).to(Dtype::f32);
  }

  Tensor advance_rows(std::span<const int64_t> rest) {
    const auto begin = static_cast<int64_t>(cached.size());
    const int64_t rows = rows_for(static_cast<int64_t>(rest.size()));
    const int64_t used = std::min(rows, static_cast<int64_t>(rest.size()));
    reserve(begin + rows);
    std::vector<int64_t> tokens(rest.begin(), rest.begin() + used);
    tokens.resize(static_cast<size_t>(rows), 0);
    const Tensor positions = arange(begin, begin + rows);
    const Tensor scores =
        step(tensor(tokens).reshape({1, rows}), positions, tensor(std::vector<int64_t>{used - 1}), cache);
    cached.insert(cached.end(), rest.begin(), rest.begin() + used);
    return scores;
  }
};

TokenGenerator::TokenGenerator(Step step, MakeCache make_cache, std::vector<int64_t> end_tokens)
    : state_(std::make_shared<State>()) {
  state_->step = std::move(step);
  state_->make_cache = std::move(make_cache);
  state_->end_tokens = std::move(end_tokens);
}

const std::vector<int64_t>& TokenGenerator::end_tokens() const { return state_->end_tokens; }

Tensor TokenGenerator::scores(std::span<const int64_t> tokens) {
  if (tokens.empty()) throw UserError("generate: the prompt has no tokens; begin it with the model's start token");
  if (const auto negative = std::find_if(tokens.begin(), tokens.end(), [](int64_t token) { return token < 0; });
      negative != tokens.end())
    throw UserError(text::cat("generate: the prompt has the token ", *negative, ", which is negative"));
  const NoGrad no_grad;
  return state_->advance(tokens);
}

std::vector<int64_t> TokenGenerator::generate(std::span<const int64_t> prompt, const GenerateOptions& options,
                                              const std::function<bool(const GeneratedToken&)>& on_token) {
  std::vector<int64_t> ends = state_->end_tokens;
  ends.insert(ends.end(), options.stop_tokens.begin(), options.stop_tokens.end());
  generation::Sampler sampler(options, ends);
  std::vector<int64_t> tokens(prompt.begin(), prompt.end());
  for (int64_t count = 0; count < options.max_tokens; ++count) {
    const GeneratedToken next = sampler.choose(scores(tokens).to_vector<float>(), tokens, count);
    if (contains(ends, next.id)) break;
    tokens.push_back(next.id);
    if (on_token && !on_token(next)) break;
  }
  return {tokens.begin() + static_cast<std::ptrdiff_t>(prompt.size()), tokens.end()};
}

}  // namespace fulgurite
