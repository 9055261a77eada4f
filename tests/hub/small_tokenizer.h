#pragma once
#include <fulgurite/tokenizer.h>

#include "tokenizer/tokenizer_text.h"

namespace fulgurite::test {

/// Thirteen tokens as small_llama has; "é" is two of them.
inline Tokenizer small_tokenizer() {
  return Tokenizer::from_json(tokenizer_text(
      R"({"type": "BPE", "merges": [], "vocab": {"a": 0, "b": 1, "c": 2, "d": 3, "e": 4, "f": 5, "g": 6, "h": 7,
          "i": 8, "j": 9, "Ġ": 10, "Ã": 11, "©": 12}})",
      {{"pre_tokenizer", R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false})"},
       {"decoder", R"({"type": "ByteLevel"})"}}));
}

}  // namespace fulgurite::test
