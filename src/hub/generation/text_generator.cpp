#include <fulgurite/hub/text_generator.h>

#include "hub/generation/stop_filter.h"

namespace fulgurite {

namespace {

// Decoders treat the beginning of a text differently: the stream begins with some tokens of the prompt.
TextStream stream_after(const Tokenizer& tokenizer, const std::vector<int64_t>& prompt) {
  constexpr size_t tokens_before = 8;
  TextStream stream(tokenizer);
  for (size_t i = prompt.size() - std::min(prompt.size(), tokens_before); i < prompt.size(); ++i) stream.put(prompt[i]);
  stream.finish();
  return stream;
}

}  // namespace

std::string TextGenerator::generate(const std::vector<int64_t>& prompt, const GenerateOptions& options,
                                    const std::function<void(std::string_view)>& on_text) {
  TextStream stream = stream_after(text_, prompt);
  generation::StopFilter filter(options.stop);
  std::string out;
  const auto show = [&](const std::string& part) {
    if (part.empty()) return;
    out += part;
    if (on_text) on_text(part);
  };
  generated_ = tokens_.generate(prompt, options, [&](const GeneratedToken& token) {
    show(filter.put(stream.put(token.id)));
    return !filter.is_stopped();
  });
  show(filter.put(stream.finish()));
  show(filter.finish());
  return out;
}

std::string TextGenerator::generate(std::string_view prompt, const GenerateOptions& options,
                                    const std::function<void(std::string_view)>& on_text) {
  return generate(text_.encode(prompt).ids, options, on_text);
}

std::string TextGenerator::chat(const std::vector<ChatMessage>& messages, const GenerateOptions& options,
                                const std::function<void(std::string_view)>& on_text) {
  const std::string prompt = text_.apply_chat_template(messages, {.add_generation_prompt = true});
  return generate(text_.encode(prompt, {.add_special_tokens = false}).ids, options, on_text);
}

}  // namespace fulgurite
