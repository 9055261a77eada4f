#include <fulgurite/hub/batch_generator.h>

#include <algorithm>
#include <bit>
#include <deque>

#include <fulgurite/error.h>

#include "hub/generation/sampler.h"
#include "hub/generation/token_generator.h"

namespace fulgurite {

namespace {

using generation::CachedModel;
using generation::Sampler;

struct Text {
  int64_t id;
  std::vector<int64_t> tokens;  // the prompt and those generated
  int64_t max_tokens;
  std::vector<int64_t> ends;
  Sampler sampler;
  int64_t generated = 0;
  bool is_in_prompt = true;
};

// A text of the cache. The tokens of an earlier text are retained until another one needs the place.
struct Place {
  std::vector<int64_t> cached{};
  std::optional<Text> text{};
};

std::vector<int64_t> with(std::vector<int64_t> tokens, const std::vector<int64_t>& more) {
  tokens.insert(tokens.end(), more.begin(), more.end());
  return tokens;
}

}  // namespace

struct BatchGenerator::State {
  CachedModel model;
  std::vector<int64_t> end_tokens;
  std::vector<Place> places;  // the first `active` have texts
  size_t active = 0;
  std::deque<Text> waiting{};
  int64_t next_id = 0;
  std::vector<BatchProgress> progress{};

  // Gives waiting texts places: those that have the longest beginning of the prompt in the cache.
  void admit() {
    while (!waiting.empty() && active < places.size()) {
      Text text = std::move(waiting.front());
      waiting.pop_front();
      if (text.max_tokens == 0) {
        progress.push_back({text.id, {}, FinishReason::length, {}});
        continue;
      }
      const auto same = [&](const Place& place) { return generation::shared_length(place.cached, text.tokens); };
      const auto best = std::max_element(places.begin() + static_cast<std::ptrdiff_t>(active), places.end(),
                                         [&](const Place& a, const Place& b) { return same(a) < same(b); });
      exchange(active, static_cast<size_t>(best - places.begin()));
      Place& place = places[active++];
      place.cached.resize(std::min(same(place), text.tokens.size() - 1));
      place.text = std::move(text);
    }
  }

  void exchange(size_t a, size_t b) {
    if (a == b) return;
    const size_t length = std::max(places[a].cached.size(), places[b].cached.size());
    model.exchange(static_cast<int64_t>(a), static_cast<int64_t>(b), static_cast<int64_t>(length));
    std::swap(places[a], places[b]);
  }

  void release(size_t place) {
    places[place].text.reset();
    exchange(place, --active);
  }

  // Computes a part of the first prompt that is not complete.
  void advance_prompt() {
    for (size_t i = 0; i < active; ++i) {
      Place& place = places[i];
      Text& text = *place.text;
      if (!text.is_in_prompt) continue;
      const std::span<const int64_t> rest = std::span(text.tokens).subspan(place.cached.size());
      const auto [used, scores] =
          model.compute(static_cast<int64_t>(i), rest, static_cast<int64_t>(place.cached.size()));
      place.cached.insert(place.cached.end(), rest.begin(), rest.begin() + used);
      if (place.cached.size() == text.tokens.size()) {
        text.is_in_prompt = false;
        choose(i, scores.to_vector<float>());
      }
      return;
    }
  }

  // Computes the last token of each text that is past its prompt.
  void advance_texts() {
    std::vector<int64_t> ready;
    for (size_t i = 0; i < active; ++i)
      if (is_ready(places[i])) ready.push_back(places[i].text->id);
    if (ready.empty()) return;
    const Tensor scores = active == 1 ? compute_one() : compute_each();
    const std::vector<float> all = scores.to_vector<float>();
    const auto vocabulary = static_cast<size_t>(scores.size(-1));
    std::vector<std::pair<int64_t, std::vector<float>>> rows;
    for (size_t i = 0; i < active; ++i) {
      if (!is_ready(places[i])) continue;
      places[i].cached.push_back(places[i].text->tokens.back());
      const float* const row = all.data() + i * vocabulary;
      rows.emplace_back(places[i].text->id, std::vector<float>(row, row + vocabulary));
    }
    // Texts that end exchange places.
    for (auto& [id, row] : rows) choose(place_of(id), std::move(row));
  }

  static bool is_ready(const Place& place) { return !place.text->is_in_prompt; }

  Tensor compute_one() {
    const int64_t last[] = {places[0].text->tokens.back()};
    return model.compute(0, last, static_cast<int64_t>(places[0].cached.size())).second;
  }

  // Places without a token to compute are padding: it goes to the position after their cached tokens.
  Tensor compute_each() {
    std::vector<int64_t> tokens, positions;
    for (size_t i = 0; i < std::bit_ceil(active); ++i) {
      Place& place = places[i];
      const auto longest = static_cast<size_t>(model.max_length());
      if (longest > 0 && place.cached.size() >= longest) place.cached.resize(longest - 1);
      tokens.push_back(place.text && is_ready(place) ? place.text->tokens.back() : 0);
      positions.push_back(static_cast<int64_t>(place.cached.size()));
    }
    return model.compute_each(tokens, positions);
  }

  size_t place_of(int64_t id) const {
    for (size_t i = 0; i < active; ++i)
      if (places[i].text->id == id) return i;
    return active;
  }

  void choose(size_t place, std::vector<float> scores) {
    Text& text = *places[place].text;
    BatchProgress step{text.id, {}, FinishReason::none, {}};
    try {
      const GeneratedToken next = text.sampler.choose(std::move(scores), text.tokens, text.generated);
      if (std::find(text.ends.begin(), text.ends.end(), next.id) != text.ends.end()) {
        step.finish = FinishReason::stop;
      } else {
        step.token = next;
        text.tokens.push_back(next.id);
        const auto length = static_cast<int64_t>(text.tokens.size());
        if (++text.generated == text.max_tokens || length == model.max_length()) step.finish = FinishReason::length;
      }
    } catch (const UserError& error) {
      step.finish = FinishReason::error;
      step.error = error.what();
    }
    if (step.finish != FinishReason::none) release(place);
    progress.push_back(std::move(step));
  }
};

BatchGenerator::BatchGenerator(const TokenGenerator& generator, int64_t texts) {
  if (texts < 1 || texts > 1024) throw UserError("BatchGenerator: texts must be between 1 and 1024");
  const auto places = std::bit_ceil(static_cast<uint64_t>(texts));
  const generation::LanguageModel& model = generator.state_->model;
  state_ = std::make_shared<State>(State{.model = {model, static_cast<int64_t>(places)},
                                         .end_tokens = generator.end_tokens(),
                                         .places = std::vector<Place>(places)});
}

int64_t BatchGenerator::add(std::span<const int64_t> prompt, const GenerateOptions& options) {
  generation::check_prompt(prompt, state_->model.max_length());
  const std::vector<int64_t> ends = with(state_->end_tokens, options.stop_tokens);
  const bool is_full = static_cast<int64_t>(prompt.size()) == state_->model.max_length();
  state_->waiting.push_back({.id = state_->next_id,
                             .tokens = {prompt.begin(), prompt.end()},
                             .max_tokens = is_full ? 0 : options.max_tokens,
                             .ends = ends,
                             .sampler = Sampler(options, ends)});
  return state_->next_id++;
}

void BatchGenerator::remove(int64_t id) {
  std::erase_if(state_->waiting, [&](const Text& text) { return text.id == id; });
  if (const size_t place = state_->place_of(id); place < state_->active) state_->release(place);
}

std::vector<BatchProgress> BatchGenerator::advance() {
  state_->admit();
  state_->advance_prompt();
  state_->advance_texts();
  return std::exchange(state_->progress, {});
}

int64_t BatchGenerator::size() const { return static_cast<int64_t>(state_->active + state_->waiting.size()); }

std::vector<std::vector<int64_t>> BatchGenerator::generate(const std::vector<std::vector<int64_t>>& prompts,
                                                           const GenerateOptions& options) {
  std::vector<std::vector<int64_t>> texts(prompts.size());
  std::vector<int64_t> ids;
  for (const std::vector<int64_t>& prompt : prompts) ids.push_back(add(prompt, options));
  while (size() > 0)
    for (const BatchProgress& step : advance()) {
      const auto at = std::find(ids.begin(), ids.end(), step.id);
      if (at == ids.end()) continue;
      if (step.finish == FinishReason::error) throw UserError(step.error);
      if (step.token) texts[static_cast<size_t>(at - ids.begin())].push_back(step.token->id);
    }
  return texts;
}

}  // namespace fulgurite
