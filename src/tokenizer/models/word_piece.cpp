#include <fulgurite/error.h>

#include "support/text/text.h"
#include "support/text/utf8.h"
#include "tokenizer/component_json.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/trie.h"
#include "tokenizer/unicode.h"

namespace fulgurite::tokenization {

namespace {

// The longest token that begins a word, then the longest that continue it.
class WordPiece : public Model {
 public:
  explicit WordPiece(const json::Node& component)
      : prefix_(string_member(component, "continuing_subword_prefix", "##")),
        unknown_(string_member(component, "unk_token", "[UNK]")),
        max_characters_(integer_member(component, "max_input_chars_per_word", 100)) {
    read_vocabulary(component);
    unknown_id_ = vocabulary_.find(unknown_);
    trie_ = Trie(vocabulary_.all());
    continuing_ = trie_.find(prefix_);
  }

  void tokenize(std::string_view word, std::vector<Token>& out) const override {
    const size_t first = out.size();
    if (is_too_long(word)) return add_unknown(word, out);
    for (size_t begin = 0; begin < word.size();) {
      const Token longest = longest_token(word, begin);
      if (longest.id < 0) {
        out.resize(first);
        return add_unknown(word, out);
      }
      out.push_back(longest);
      begin = longest.end;
    }
  }

 private:
  // The longest token at `begin`; its id is -1 if there is none.
  Token longest_token(std::string_view word, size_t begin) const {
    Token longest{-1, static_cast<uint32_t>(begin), static_cast<uint32_t>(begin)};
    uint32_t node = begin == 0 ? Trie::root : continuing_;
    for (size_t end = begin; end < word.size() && node != Trie::none;) {
      node = trie_.child(node, word[end++]);
      if (node == Trie::none || trie_.id(node) < 0) continue;
      longest.id = trie_.id(node);
      longest.end = static_cast<uint32_t>(end);
    }
    return longest;
  }
  bool is_too_long(std::string_view word) const {
    if (static_cast<int64_t>(word.size()) <= max_characters_) return false;
    int64_t count = 0;
    for (size_t at = 0; at < word.size(); ++count) next(word, at);
    return count > max_characters_;
  }
  void add_unknown(std::string_view word, std::vector<Token>& out) const {
    if (unknown_id_ < 0)
      throw UserError(text::cat("the unknown token \"", printable(unknown_), "\" is not in the vocabulary"));
    out.push_back({unknown_id_, 0, static_cast<uint32_t>(word.size())});
  }
  std::string prefix_, unknown_;
  int64_t max_characters_, unknown_id_ = -1;
  Trie trie_;
  uint32_t continuing_ = Trie::none;  // the node of tokens that continue a word
};

}  // namespace

std::unique_ptr<const Model> make_wordpiece(const json::Node& component) {
  return std::make_unique<WordPiece>(component);
}

}  // namespace fulgurite::tokenization
