#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <fulgurite/hub/generate.h>
#include <fulgurite/tokenizer.h>

#include "hub/generation/stop_filter.h"

namespace fulgurite::generation {

/// The text of tokens as they are generated after a prompt; it ends before the first text in `stop`.
class TextOfTokens {
 public:
  TextOfTokens(const Tokenizer& tokenizer, const std::vector<int64_t>& prompt, std::vector<std::string> stop);
  /// Returns the part of the text that a token adds, without what may be the beginning of a stop text.
  std::string put(int64_t token);
  /// Returns the part that was held back.
  std::string finish();
  bool is_stopped() const { return filter_.is_stopped(); }

 private:
  TextStream stream_;
  StopFilter filter_;
};

/// Returns the text of the tokens that `generate` passes to the function that it is given, until a stop text comes.
/// `on_text`, if there is one, is called with each new part.
std::string text_of(TextOfTokens text, const std::function<void(std::string_view)>& on_text,
                    const std::function<void(const std::function<bool(const GeneratedToken&)>& on_token)>& generate);

}  // namespace fulgurite::generation
