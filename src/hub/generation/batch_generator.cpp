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

// The part of the cache for one text. The tokens of an earlier text are retained until another one needs it.
struct Slot {
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
  std::vector<Slot> slots;  // the first `active` have texts
  size_t active = 0;
  std::deque<Text> waiting{};
  int64_t next_id = 0;
  std::vector<BatchProgress> progress{};

  // Gives waiting texts slots: those that have the longest beginning of the prompt in the cache.
  void admit() {
    while (!waiting.empty() && active < slots.size()) {
      Text text = std::move(waiting.front());
      waiting.pop_front();
      if (text.max_tokens == 0) {
        progress.push_back({text.id, {}, FinishReason::length, {}});
        continue;
      }
      const auto same = [&](const Slot& slot) { return generation::shared_length(slot.cached, text.tokens); };
      const auto best = std::max_element(slots.begin() + static_cast<std::ptrdiff_t>(active), slots.end(),
                                         [&](const Slot& a, const Slot& b) { return same(a) < same(b); });
      exchange(active, static_cast<size_t>(best - slots.begin()));
      Slot& slot = slots[active];
      announce_length(active++, text);
      slot.cached.resize(std::min(same(slot), text.tokens.size() - 1));
      slot.text = std::move(text);
    }
  }

  // A text that becomes so long that its keys and values change is computed anew.
  void announce_length(size_t at, Text& text) {
    if (!model.set_length(static_cast<int64_t>(at), static_cast<int64_t>(text.tokens.size()))) return;
    slots[at].cached.clear();
    text.is_in_prompt = true;
  }

  void exchange(size_t a, size_t b) {
    if (a == b) return;
    const size_t length = std::max(slots[a].cached.size(), slots[b].cached.size());
    model.exchange(static_cast<int64_t>(a), static_cast<int64_t>(b), static_cast<int64_t>(length));
    std::swap(slots[a], slots[b]);
  }

  void release(size_t slot) {
    slots[slot].text.reset();
    exchange(slot, --active);
  }

  // Computes a part of the first prompt that is not complete.
  void advance_prompt() {
    for (size_t i = 0; i < active; ++i) {
      Slot& slot = slots[i];
      Text& text = *slot.text;
      if (!text.is_in_prompt) continue;
      const std::span<const int64_t> rest = std::span(text.tokens).subspan(slot.cached.size());
      const auto [used, scores] =
          model.compute(static_cast<int64_t>(i), rest, static_cast<int64_t>(slot.cached.size()));
      slot.cached.insert(slot.cached.end(), rest.begin(), rest.begin() + used);
      if (slot.cached.size() == text.tokens.size()) {
        text.is_in_prompt = false;
        choose(i, scores.to_vector<float>());
      }
      return;
    }
  }

  // Computes the last token of each text that is past its prompt.
  void advance_texts() {
    std::vector<int64_t> ready;
    for (size_t i = 0; i < active; ++i) {
      announce_length(i, *slots[i].text);
      if (is_ready(slots[i])) ready.push_back(slots[i].text->id);
    }
    if (ready.empty()) return;
    const Tensor scores = active == 1 ? compute_one() : compute_each();
    const std::vector<float> all = scores.to_vector<float>();
    const auto vocabulary = static_cast<size_t>(scores.size(-1));
    std::vector<std::pair<int64_t, std::vector<float>>> rows;
    for (size_t i = 0; i < active; ++i) {
      if (!is_ready(slots[i])) continue;
      slots[i].cached.push_back(slots[i].text->tokens.back());
      const float* const row = all.data() + i * vocabulary;
      rows.emplace_back(slots[i].text->id, std::vector<float>(row, row + vocabulary));
    }
    // Texts that end exchange slots.
    for (auto& [id, row] : rows) choose(slot_of(id), std::move(row));
  }

  static bool is_ready(const Slot& slot) { return !slot.text->is_in_prompt; }

  Tensor compute_one() {
    const int64_t last[] = {slots[0].text->tokens.back()};
    return model.compute(0, last, static_cast<int64_t>(slots[0].cached.size())).second;
  }

  // Slots without a token to compute are padding: it goes to the position after their cached tokens.
  Tensor compute_each() {
    std::vector<int64_t> tokens, positions;
    for (size_t i = 0; i < std::bit_ceil(active); ++i) {
      Slot& slot = slots[i];
      const auto longest = static_cast<size_t>(model.max_length());
      if (longest > 0 && slot.cached.size() >= longest) slot.cached.resize(longest - 1);
      tokens.push_back(slot.text && is_ready(slot) ? slot.text->tokens.back() : 0);
      positions.push_back(static_cast<int64_t>(slot.cached.size()));
    }
    return model.compute_each(tokens, positions);
  }

  size_t slot_of(int64_t id) const {
    for (size_t i = 0; i < active; ++i)
      if (slots[i].text->id == id) return i;
    return active;
  }

  void choose(size_t slot, std::vector<float> scores) {
    Text& text = *slots[slot].text;
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
    if (step.finish != FinishReason::none) release(slot);
    progress.push_back(std::move(step));
  }
};

BatchGenerator::BatchGenerator(const TokenGenerator& generator, int64_t texts) {
  if (texts < 1 || texts > 1024) throw UserError("BatchGenerator: texts must be between 1 and 1024");
  const auto slots = std::bit_ceil(static_cast<uint64_t>(texts));
  const generation::LanguageModel& model = generator.state_->model;
  state_ = std::make_shared<State>(State{.model = {model, static_cast<int64_t>(slots)},
                                         .end_tokens = generator.end_tokens(),
                                         .slots = std::vector<Slot>(slots)});
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
  if (const size_t slot = state_->slot_of(id); slot < state_->active) state_->release(slot);
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
