#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/json.h"

namespace fulgurite::tokenization {

/// A token of an encoded text: code points [begin, end) of it; 0 for tokens that are not of the text.
struct EncodedToken {
  int64_t id;
  uint32_t begin, end;
  int32_t type = 0;
  bool is_special = false;  // added by a post-processor
  /// White space at the beginning and end of the text of an added token; of others it is their token's.
  bool is_added = false;
  uint32_t leading = 0, trailing = 0;
};
using EncodedTokens = std::vector<EncodedToken>;
/// The text of a token in the vocabulary.
using TokenText = std::function<std::string_view(int64_t id)>;

/// Counts the white space, also in the characters of bytes, at a token's beginning and end, in code points.
std::pair<uint32_t, uint32_t> count_spaces(std::string_view text);

/// The last step of encoding: special tokens are added around a text, and offsets are trimmed.
class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  /// The tokens of a text, or of a text and a second one.
  virtual EncodedTokens process(std::vector<EncodedTokens> parts, const TokenText& text_of,
                                bool adds_special_tokens) const = 0;
};

/// Makes the post-processor that tokenizer.json describes. UserError for kinds that there are not.
std::unique_ptr<const PostProcessor> make_post_processor(const json::Node& component);
/// Joins the parts; the second has the type 1.
EncodedTokens join_parts(std::vector<EncodedTokens> parts);

}  // namespace fulgurite::tokenization
