#pragma once
#include <fulgurite/detail/requirements.h>

// Text from a language model: the prompt in few calls, then token by token with a cache of keys and values.
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fulgurite/jit.h>
#include <fulgurite/models/key_value_cache.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

class BatchGenerator;
class Transcriber;

/// How tokens are chosen. The scores are processed in the order of the members, as transformers does it.
struct GenerateOptions {
  detail::NamedMembers named_members = detail::NamedMembers();
  int64_t max_tokens = 64;           // generated ones
  int64_t min_tokens = 0;            // before these the end-of-text tokens are not chosen
  double repetition_penalty = 1;     // divides positive scores of earlier tokens, multiplies negative ones
  int64_t no_repeat_ngram_size = 0;  // no sequence of so many tokens occurs twice; 0: no limit
  double frequency_penalty = 0;      // subtracted once for each time that a token was generated
  double presence_penalty = 0;       // subtracted from tokens that were generated
  std::vector<std::pair<int64_t, double>> token_bias{};  // added to the scores of tokens
  std::vector<int64_t> suppress_tokens{};
  double temperature = 0;              // 0: the token of the highest score
  int64_t top_k = 0;                   // only the k highest scores; 0: all
  double top_p = 1;                    // only the most probable tokens that together have this probability
  double min_p = 0;                    // only tokens with this share of the highest probability
  double typical_p = 1;                // only tokens whose information is near the expected one (Meister et al. 2022)
  uint64_t seed = 0;                   // equal seeds give equal texts
  std::vector<int64_t> stop_tokens{};  // end the text, beside the end-of-text tokens
  std::vector<std::string> stop{};     // texts that end it and are not part of it, where text is generated
  int64_t top_logprobs = 0;            // the most probable tokens that GeneratedToken::top lists
  int64_t prompt_lookup_tokens = 0;    // guessed from earlier occurrences and computed together; at most 7, 0: none
  int64_t prompt_lookup_ngram = 3;     // the most last tokens that an earlier occurrence has to share, at least 1
};

/// A token and the logarithm of its probability among all tokens, before the options change the scores.
struct TokenLogprob {
  int64_t id = 0;
  double logprob = 0;
};

/// A chosen token.
struct GeneratedToken {
  int64_t id = 0;
  double logprob = 0;               // as TokenLogprob's
  std::vector<TokenLogprob> top{};  // the most probable tokens, as many as GenerateOptions::top_logprobs says
};

/// Generates tokens with a language model. The keys and values of the last call's tokens are retained, so that a call
/// whose prompt begins with them computes the rest only.
class TokenGenerator {
 public:
  /// The model has `step(tokens, positions, rows, cache)`, as models::Llama has, and `make_cache(model, capacity,
  /// batch)`. It is compiled at the first call. `end_tokens` end every text, and so does the length `max_length()`, if
  /// the model has such a member. Texts longer than `long_length()`, if the model has this one, are computed anew with
  /// KeyValueCache::is_long.
  template <class Model>
  explicit TokenGenerator(Model model, std::vector<int64_t> end_tokens = {})
      : TokenGenerator(step_of(model), cache_of(model), lengths_of(model), std::move(end_tokens)) {}

  /// Returns the tokens after the prompt, without the one that ends the text. `on_token` is called with each; false
  /// ends the text after it. UserError for an empty prompt, one that is longer than the model's longest text, negative
  /// tokens, or options out of range.
  std::vector<int64_t> generate(std::span<const int64_t> prompt, const GenerateOptions& options = {},
                                const std::function<bool(const GeneratedToken&)>& on_token = {});
  /// The scores of the next token after these tokens: [vocabulary], f32.
  Tensor scores(std::span<const int64_t> tokens);
  const std::vector<int64_t>& end_tokens() const;
  struct State;

 private:
  using Cache = models::KeyValueCache;
  using Step = std::function<Tensor(const Tensor& tokens, const Tensor& positions, const Tensor& rows, const Cache&)>;
  using MakeCache = std::function<Cache(int64_t capacity, int64_t texts)>;
  struct Lengths {
    int64_t max = 0, long_text = 0;  // 0: there is none
  };
  TokenGenerator(Step step, MakeCache make_cache, const Lengths& lengths, std::vector<int64_t> end_tokens);

  static JitOptions step_options();
  void forget();  // the cached keys and values
  template <class Model>
  static Step step_of(const Model& model) {
    const auto step = [](Model m, Tensor tokens, Tensor positions, Tensor rows, Cache cache) {
      return m.step(tokens, positions, rows, cache);
    };
    const auto compiled = jit(step, step_options());
    return [compiled, model](const Tensor& tokens, const Tensor& positions, const Tensor& rows, const Cache& cache) {
      return compiled(model, tokens, positions, rows, cache);
    };
  }
  template <class Model>
  static MakeCache cache_of(const Model& model) {
    return [model](int64_t capacity, int64_t texts) { return make_cache(model, capacity, texts); };
  }
  template <class Model>
  static Lengths lengths_of(const Model& model) {
    Lengths lengths;
    if constexpr (requires { model.max_length(); }) lengths.max = model.max_length();
    if constexpr (requires { model.long_length(); }) lengths.long_text = model.long_length();
    return lengths;
  }

  friend class BatchGenerator;
  friend class Seq2SeqGenerator;
  friend class Transcriber;
  std::shared_ptr<State> state_;
};

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
