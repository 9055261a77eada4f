#pragma once
#include <string>
#include <vector>

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

}  // namespace fulgurite::generation
