#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <fulgurite/models/key_value_cache.h>
#include <fulgurite/tensor.h>

namespace fulgurite::generation {

/// The parts of a language model that generation calls.
struct LanguageModel {
  using Cache = models::KeyValueCache;
  /// As models::Llama::step.
  std::function<Tensor(const Tensor& tokens, const Tensor& positions, const Tensor& rows, const Cache&)> step;
  std::function<Cache(int64_t capacity, int64_t texts)> make_cache;
  int64_t max_length = 0;   // of a text, in tokens; 0: no limit
  int64_t long_length = 0;  // longer texts are computed with Cache::is_long; 0: none
};

/// A language model with the cache of several texts, which grows with the longest of them.
class CachedModel {
 public:
  CachedModel(LanguageModel model, int64_t texts)
      : model_(std::move(model)), texts_(texts), is_long_(static_cast<size_t>(texts), false) {}

  /// Announces the length of a text, whose tokens are computed next. Returns true if its keys and values in the cache
  /// are not those of a text of this length.
  bool set_length(int64_t text, int64_t length);

  /// The most tokens of one call of `compute`.
  static constexpr int64_t max_rows = 512;
  /// Computes the first of `tokens`, which are at the positions from `begin` of a text. Returns how many it has
  /// computed, at most max_rows, and the scores of the last one's successor: [vocabulary], f32.
  std::pair<int64_t, Tensor> compute(int64_t text, std::span<const int64_t> tokens, int64_t begin);
  /// The most tokens of one call of `compute_all`.
  static constexpr int64_t max_few_rows = 8;
  /// Computes at most max_few_rows tokens. Returns the scores of each one's successor: [tokens, vocabulary], f32. Each
  /// row has the bits that `compute` gives for it.
  Tensor compute_all(int64_t text, std::span<const int64_t> tokens, int64_t begin);
  /// Computes one token of each of the first texts, at its position. Returns the scores: [texts, vocabulary], f32.
  Tensor compute_each(std::span<const int64_t> tokens, std::span<const int64_t> positions);
  /// Exchanges two texts, of which the first `length` positions are used.
  void exchange(int64_t a, int64_t b, int64_t length);

  int64_t texts() const { return texts_; }
  int64_t max_length() const { return model_.max_length; }

 private:
  void reserve(int64_t length);
  Tensor step(int64_t text, std::span<const int64_t> tokens, int64_t begin, int64_t rows,
              std::span<const int64_t> scored);
  LanguageModel::Cache cache_of(int64_t first, int64_t count) const;

  LanguageModel model_;
  int64_t texts_;
  LanguageModel::Cache cache_;
  std::vector<bool> is_long_;  // by text
  int64_t capacity_ = 0;
};

}  // namespace fulgurite::generation
