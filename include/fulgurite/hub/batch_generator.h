#pragma once
#include <fulgurite/detail/requirements.h>

// Several texts of unequal lengths from one language model, computed together.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fulgurite/hub/generate.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// The reason why a text ended: a token that ends texts; max_tokens, or the model's longest text; options that exclude
/// every token, or scores that are not numbers.
enum class FinishReason { none, stop, length, error };

/// A step of a text of a BatchGenerator.
struct BatchProgress {
  int64_t id = 0;                       // of the text, as `add` returned it
  std::optional<GeneratedToken> token;  // none for the token that ends a text
  FinishReason finish = FinishReason::none;
  std::string error;  // for FinishReason::error
};

/// Generates several texts at a time: each call of the model computes one token of each, for little more than one text
/// costs. Texts may begin and end at any time. Each has the tokens that TokenGenerator gives for its prompt and
/// options.
class BatchGenerator {
 public:
  /// At most `texts` texts are computed together; others wait. The model as for TokenGenerator.
  template <class Model>
  explicit BatchGenerator(Model model, std::vector<int64_t> end_tokens = {}, int64_t texts = 8)
      : BatchGenerator(TokenGenerator(std::move(model), std::move(end_tokens)), texts) {}
  /// Shares the model and the end tokens of a generator.
  explicit BatchGenerator(const TokenGenerator& generator, int64_t texts = 8);

  /// Adds a text and returns its number. UserError as TokenGenerator::generate.
  int64_t add(std::span<const int64_t> prompt, const GenerateOptions& options = {});
  /// Ends a text, if it has not ended.
  void remove(int64_t id);
  /// Computes a part of at most one prompt and one token of each text that is past its prompt. Returns the new tokens
  /// and ends.
  std::vector<BatchProgress> advance();
  /// The number of texts that have not ended.
  int64_t size() const;
  /// Returns the tokens after each prompt, without those that end texts. UserError if a text ended with an error.
  std::vector<std::vector<int64_t>> generate(const std::vector<std::vector<int64_t>>& prompts,
                                             const GenerateOptions& options = {});

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
