#include <fulgurite/hub/text_generator.h>

#include <map>

#include <fulgurite/error.h>
#include <fulgurite/hub/batch_generator.h>

#include "hub/generation/text_of_tokens.h"

namespace fulgurite {

std::string TextGenerator::generate(const std::vector<int64_t>& prompt, const GenerateOptions& options,
                                    const std::function<void(std::string_view)>& on_text) {
  return generation::text_of({text_, prompt, options.stop}, on_text,
                             [&](const auto& on_token) { generated_ = tokens_.generate(prompt, options, on_token); });
}

std::string TextGenerator::generate(std::string_view prompt, const GenerateOptions& options,
                                    const std::function<void(std::string_view)>& on_text) {
  return generate(text_.encode(prompt).ids, options, on_text);
}

std::vector<std::string> TextGenerator::generate_batch(const std::vector<std::string>& prompts,
                                                       const GenerateOptions& options, int64_t texts) {
  struct Text {
    size_t index;
    generation::TextOfTokens text;
  };
  BatchGenerator generator(tokens_, texts);
  std::vector<std::string> out(prompts.size());
  std::map<int64_t, Text> running;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const std::vector<int64_t> tokens = text_.encode(prompts[i]).ids;
    const int64_t id = generator.add(tokens, options);
    running.emplace(id, Text{i, {text_, tokens, options.stop}});
  }
  while (generator.size() > 0)
    for (const BatchProgress& step : generator.advance()) {
      auto& [index, text] = running.at(step.id);
      if (step.finish == FinishReason::error) throw UserError(step.error);
      if (step.token && !text.is_stopped()) out[index] += text.put(step.token->id);
      if (step.finish != FinishReason::none) out[index] += text.finish();
      else if (text.is_stopped()) generator.remove(step.id);
    }
  return out;
}

std::string TextGenerator::chat(const std::vector<ChatMessage>& messages, const GenerateOptions& options,
                                const std::function<void(std::string_view)>& on_text) {
  const std::string prompt = text_.apply_chat_template(messages, {.add_generation_prompt = true});
  return generate(text_.encode(prompt, {.add_special_tokens = false}).ids, options, on_text);
}

}  // namespace fulgurite
