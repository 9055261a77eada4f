#include "hub/generation/text_of_tokens.h"

#include <algorithm>

namespace fulgurite::generation {

// Decoders treat the beginning of a text differently: the stream begins with some tokens of the prompt.
TextOfTokens::TextOfTokens(const Tokenizer& tokenizer, const std::vector<int64_t>& prompt,
                           std::vector<std::string> stop)
    : stream_(tokenizer), filter_(std::move(stop)) {
  constexpr size_t tokens_before = 8;
  for (size_t i = prompt.size() - std::min(prompt.size(), tokens_before); i < prompt.size(); ++i)
    stream_.put(prompt[i]);
  stream_.finish();
}

std::string TextOfTokens::put(int64_t token) { return filter_.put(stream_.put(token)); }

std::string TextOfTokens::finish() {
  std::string rest = filter_.put(stream_.finish());
  rest += filter_.finish();
  return rest;
}

std::string text_of(TextOfTokens text, const std::function<void(std::string_view)>& on_text,
                    const std::function<void(const std::function<bool(const GeneratedToken&)>& on_token)>& generate) {
  std::string out;
  const auto show = [&](const std::string& part) {
    if (part.empty()) return;
    out += part;
    if (on_text) on_text(part);
  };
  generate([&](const GeneratedToken& token) {
    show(text.put(token.id));
    return !text.is_stopped();
  });
  show(text.finish());
  return out;
}

}  // namespace fulgurite::generation
