#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fulgurite/fulgurite.h>

namespace fulgurite::cli {

/// A file's text, or the texts of a folder's files one after another in order of name (files that are not UTF-8 text
/// are skipped). Throws UserError, one line, if the text is missing, empty or not UTF-8.
std::string read_text(const std::string& path);
/// The headers of the host compiler's C++ standard library: a text that every machine that builds this has.
std::string read_standard_library_headers();

/// The characters (Unicode code points) of a text, sorted; a token is an index here.
class Vocabulary {
 public:
  static Vocabulary of(std::string_view text);
  static Vocabulary from_characters(const std::string& characters);
  /// Throws UserError naming a character that is not in the vocabulary.
  std::vector<int64_t> encode(std::string_view text) const;
  std::string decode(int64_t token) const;
  int64_t size() const { return static_cast<int64_t>(characters_.size()); }
  /// All characters, in order, as UTF-8.
  std::string characters() const;

 private:
  std::vector<uint32_t> characters_;
};

/// Rows of `block` tokens and the tokens that follow them, drawn by a counter: batch number `index` of `stream` is
/// always the same.
struct Batch {
  Tensor tokens, targets;  // i64 [batch, block]
};
Batch draw_batch(const std::vector<int64_t>& tokens, int64_t batch, int64_t block, uint64_t seed, uint64_t stream,
                 uint64_t index);

}  // namespace fulgurite::cli
