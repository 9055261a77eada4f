#pragma once
#include <memory>

#include "io/json.h"
#include "tokenizer/aligned_text.h"

namespace fulgurite::tokenization {

/// Changes a text before it is split.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  /// The changed text; its bytes are in the arena or those of `text`.
  virtual AlignedText normalize(const AlignedText& text, Arena& arena) const = 0;
};

/// Makes the normalizer that tokenizer.json describes. UserError for kinds that there are not.
std::unique_ptr<const Normalizer> make_normalizer(const json::Node& component);

// The kinds with a file of their own.
std::unique_ptr<const Normalizer> make_unicode_normalizer(std::string_view form);
std::unique_ptr<const Normalizer> make_bert_normalizer(const json::Node& component);
std::unique_ptr<const Normalizer> make_precompiled_normalizer(const json::Node& component);

/// The text in Unicode's form NFC, NFD, NFKC or NFKD.
AlignedText normalize_unicode(const AlignedText& text, bool is_composed, bool is_compatible, Arena& arena);
/// The text with each code point in lower case.
AlignedText lowercase_text(const AlignedText& text, Arena& arena);
/// The text without the code points for which the function is false.
AlignedText keep_if(const AlignedText& text, bool (*is_kept)(char32_t), Arena& arena);

}  // namespace fulgurite::tokenization
