#pragma once
#include <fulgurite/detail/requirements.h>

// Text from a language model and its tokenizer.
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fulgurite/hub/generate.h>
#include <fulgurite/tokenizer.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// Continues texts with a language model. Copies share the model and its cache of keys and values; one thread uses them
/// at a time.
class TextGenerator {
 public:
  /// `model` as for TokenGenerator: models::Llama, hub::CausalLM, … `text.end_tokens()` end every text.
  template <class Model>
  TextGenerator(Model model, Tokenizer text)
      : tokens_(TokenGenerator(std::move(model), text.end_tokens())), text_(std::move(text)) {}

  /// Returns the text after the prompt. `on_text` is called with each new part of it, which ends between characters;
  /// a part that may be the beginning of a text in `options.stop` is held back. UserError as TokenGenerator::generate.
  std::string generate(std::string_view prompt, const GenerateOptions& options = {},
                       const std::function<void(std::string_view)>& on_text = {});
  /// Returns the text after tokens, such as those of a prompt with special tokens of its own.
  std::string generate(const std::vector<int64_t>& prompt, const GenerateOptions& options = {},
                       const std::function<void(std::string_view)>& on_text = {});
  /// Returns the text after each prompt; at most `texts` of them are computed together. Each is the text that
  /// `generate` returns.
  std::vector<std::string> generate_batch(const std::vector<std::string>& prompts, const GenerateOptions& options = {},
                                          int64_t texts = 8);
  /// Returns the assistant's answer to a conversation, which the tokenizer's chat template writes.
  std::string chat(const std::vector<ChatMessage>& messages, const GenerateOptions& options = {},
                   const std::function<void(std::string_view)>& on_text = {});
  /// The tokens that the last call generated.
  const std::vector<int64_t>& generated() const { return generated_; }
  const Tokenizer& tokenizer() const { return text_; }

 private:
  TokenGenerator tokens_;
  Tokenizer text_;
  std::vector<int64_t> generated_;
};

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
