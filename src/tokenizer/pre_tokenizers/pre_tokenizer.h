#pragma once
#include <memory>
#include <vector>

#include "io/json.h"
#include "tokenizer/aligned_text.h"

namespace fulgurite::tokenization {

/// Splits a text into words, which the model takes one by one.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  /// Appends the words of a text; none is empty.
  virtual void split(const AlignedText& text, Arena& arena, std::vector<AlignedText>& out) const = 0;
};

/// Makes the pre-tokenizer that tokenizer.json describes. With `keeps_bytes` the ByteLevel at its end leaves bytes as
/// they are, for a model whose tokens are bytes. UserError for kinds that there are not.
std::unique_ptr<const PreTokenizer> make_pre_tokenizer(const json::Node& component, bool keeps_bytes);
/// True if the last step writes bytes as characters.
bool ends_with_byte_level(const json::Node& component);

}  // namespace fulgurite::tokenization
