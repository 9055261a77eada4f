#include <algorithm>

#include <fulgurite/error.h>

#include "support/text/text.h"
#include "support/text/utf8.h"
#include "tokenizer/component_json.h"
#include "tokenizer/models/model.h"
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
  }

  void tokenize(std::string_view word, std::vector<Token>& out) const override {
    const size_t first = out.size();
    if (is_too_long(word)) return add_unknown(word, out);
    std::string candidate;
    for (size_t begin = 0; begin < word.size();) {
      size_t end = std::min(word.size(), begin + vocabulary_.longest());
      while (end < word.size() && end > begin && (static_cast<unsigned char>(word[end]) & 0xC0) == 0x80) --end;
      int64_t id = -1;
      for (; end > begin; end = before(word, end)) {
        candidate = begin == 0 ? std::string() : prefix_;
        candidate += word.substr(begin, end - begin);
        id = vocabulary_.find(candidate);
        if (id >= 0) break;
      }
      if (id < 0) {
        out.resize(first);
        return add_unknown(word, out);
      }
      out.push_back({id, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
      begin = end;
    }
  }

 private:
  bool is_too_long(std::string_view word) const {
    int64_t count = 0;
    for (size_t at = 0; at < word.size(); ++count) next(word, at);
    return count > max_characters_;
  }
  void add_unknown(std::string_view word, std::vector<Token>& out) const {
    if (unknown_id_ < 0)
      throw UserError(text::cat("the unknown token \"", printable(unknown_), "\" is not in the vocabulary"));
    out.push_back({unknown_id_, 0, static_cast<uint32_t>(word.size())});
  }
  // The end without its last code point.
  static size_t before(std::string_view word, size_t end) {
    --end;
    while (end > 0 && (static_cast<unsigned char>(word[end]) & 0xC0) == 0x80) --end;
    return end;
  }
  std::string prefix_, unknown_;
  int64_t max_characters_, unknown_id_ = -1;
};

}  // namespace

std::unique_ptr<const Model> make_wordpiece(const json::Node& component) {
  return std::make_unique<WordPiece>(component);
}

}  // namespace fulgurite::tokenization
