#pragma once
#include <fulgurite/detail/requirements.h>

// Models that write a text for a source text: loading them, and generating with a cache.
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fulgurite/detail/walk.h>
#include <fulgurite/fields.h>
#include <fulgurite/hub/checkpoint.h>
#include <fulgurite/hub/generate.h>
#include <fulgurite/models/t5.h>
#include <fulgurite/tokenizer.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace hub {

/// An encoder with a decoder, of any family that the library has. Its tensors have the names of the model in it.
struct Seq2SeqLM {
  std::variant<models::T5> model;

  /// Maps source and target tokens [batch, length] to the scores of each target token's successor: [batch, target
  /// length, vocabulary]. `mask` [batch, source length] is 1 for tokens and 0 for padding; undefined: all are tokens.
  Tensor operator()(const Tensor& source, const Tensor& target, const Tensor& mask = {}) const {
    return std::visit([&](const auto& any) { return any(source, target, mask); }, model);
  }
  /// The mean cross entropy of predicting `labels` [batch, length] from the source; those of -100 do not count.
  Tensor loss(const Tensor& source, const Tensor& labels, const Tensor& mask = {}) const {
    return std::visit([&](const auto& any) { return any.loss(source, labels, mask); }, model);
  }
  /// As models::T5::encode.
  models::SourceCache encode(const Tensor& source, const Tensor& mask = {}) const {
    return std::visit([&](const auto& any) { return any.encode(source, mask); }, model);
  }
  /// As models::T5::step.
  Tensor step(const Tensor& tokens, const Tensor& positions, const Tensor& rows, const models::KeyValueCache& cache,
              const models::SourceCache& source) const {
    return std::visit([&](const auto& any) { return any.step(tokens, positions, rows, cache, source); }, model);
  }
  /// The token that begins the decoder's texts.
  int64_t start() const {
    return std::visit([](const auto& any) { return any.start_token; }, model);
  }
  static bool is_in_files(std::string_view name) { return models::T5::is_in_files(name); }
};

/// A cache with room for `capacity` positions of each text, for `Seq2SeqLM::step`.
inline models::KeyValueCache make_cache(const Seq2SeqLM& model, int64_t capacity, int64_t batch = 1) {
  return std::visit([&](const auto& any) { return make_cache(any, capacity, batch); }, model.model);
}

/// True for the config of a family that `load_seq2seq` loads.
bool is_seq2seq(const Config& config);
/// Loads a model of the family that the folder's config.json names. UserError if the library does not have it.
Seq2SeqLM load_seq2seq(const std::string& folder, const LoadOptions& options = {});

}  // namespace hub

template <>
struct Fields<hub::Seq2SeqLM> {
  static constexpr bool is_erased = true;  // the members depend on the family
  template <class Object, class Visitor>
  static void walk(Object& object, Visitor& visitor) {
    detail::tell_structure(visitor, object.model.index());
    std::visit([&visitor](auto& model) { detail::walk(model, visitor); }, object.model);
  }
};

/// Generates texts for source texts. The source is encoded once; the target is generated token by token with a cache.
class Seq2SeqGenerator {
 public:
  /// `end_tokens` end every text. The model is compiled at the first calls.
  explicit Seq2SeqGenerator(hub::Seq2SeqLM model, std::vector<int64_t> end_tokens = {});

  /// Returns the tokens for a source, without the start token and the one that ends the text. `on_token` is called with
  /// each; false ends the text after it. UserError for a source without tokens or with negative ones, and for options
  /// out of range.
  std::vector<int64_t> generate(std::span<const int64_t> source, const GenerateOptions& options = {},
                                const std::function<bool(const GeneratedToken&)>& on_token = {});
  /// The scores of the token after a source and the beginning of a target, which has no start token: [vocabulary], f32.
  Tensor scores(std::span<const int64_t> source, std::span<const int64_t> target = {});

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Generates texts for source texts with a model and its tokenizer, whose special tokens end the source.
class Seq2SeqTextGenerator {
 public:
  /// `text.end_tokens()` end every text.
  Seq2SeqTextGenerator(hub::Seq2SeqLM model, Tokenizer text);

  /// Returns the text for a source. `on_text` is called with each new part of it, as TextGenerator::generate does.
  std::string generate(std::string_view source, const GenerateOptions& options = {},
                       const std::function<void(std::string_view)>& on_text = {});
  /// Returns the text for a source's tokens.
  std::string generate(const std::vector<int64_t>& source, const GenerateOptions& options = {},
                       const std::function<void(std::string_view)>& on_text = {});
  /// The tokens that the last call generated.
  const std::vector<int64_t>& generated() const { return generated_; }

 private:
  Seq2SeqGenerator tokens_;
  Tokenizer text_;
  std::vector<int64_t> generated_;
};

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
