#include <algorithm>
#include <array>
#include <optional>

#include <fulgurite/error.h>

#include "support/text/text.h"
#include "support/text/utf8.h"
#include "tokenizer/byte_characters.h"
#include "tokenizer/component_json.h"
#include "tokenizer/models/merge_table.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/split_points.h"
#include "tokenizer/models/word_cache.h"
#include "tokenizer/unicode.h"

namespace fulgurite::tokenization {

namespace {

constexpr size_t usual_word = 32;  // bytes of a word for which memory is kept

// Byte-pair encoding (Sennrich et al. 2016) of code points or of bytes.
class Bpe : public Model {
 public:
  Bpe(const json::Node& component, bool has_bytes)
      : has_bytes_(has_bytes),
        fuses_unknown_(bool_member(component, "fuse_unk", false)),
        has_byte_fallback_(bool_member(component, "byte_fallback", false)),
        ignores_merges_(bool_member(component, "ignore_merges", false)),
        prefix_(string_member(component, "continuing_subword_prefix", "")),
        suffix_(string_member(component, "end_of_word_suffix", "")),
        merges_(list_member(component, "merges").size()) {
    read_vocabulary(component);
    const std::string unknown = string_member(component, "unk_token", "");
    unknown_id_ = vocabulary_.find(unknown);
    has_unknown_ = !unknown.empty();
    for (size_t code = 0; code < ascii_ids_.size(); ++code)
      ascii_ids_[code] = vocabulary_.find(std::string(1, static_cast<char>(code)));
    if (has_bytes_) make_byte_vocabulary();
    read_merges(list_member(component, "merges"));
    find_whole_tokens();
    cache_ = std::make_unique<WordCache>(vocabulary_.size());
    if (can_be_merged_in_parts()) split_points_.emplace(vocabulary_);
  }

  void tokenize(std::string_view word, std::vector<Token>& out) const override {
    if (ignores_merges_)
      if (const int64_t whole = find_word(word); whole >= 0)
        return out.push_back({whole, 0, static_cast<uint32_t>(word.size())});
    std::vector<Symbol> symbols;
    size_t begin = 0;
    char32_t last = 0;
    for (size_t at = 0; split_points_ && at < word.size();) {
      const size_t here = at;
      const char32_t code = next(word, at);
      if (here > begin && split_points_->is_between(last, code)) {
        tokenize_part(word.substr(begin, here - begin), begin, symbols, out);
        begin = here;
      }
      last = code;
    }
    tokenize_part(word.substr(begin), begin, symbols, out);
  }

 private:
  /// `symbols` is memory that the parts of a word share.
  void tokenize_part(std::string_view word, size_t offset, std::vector<Symbol>& symbols,
                     std::vector<Token>& out) const {
    auto begin = static_cast<uint32_t>(offset);
    const int64_t whole = find_word(word);
    if (whole >= 0 && is_whole_[static_cast<size_t>(whole)])
      return out.push_back({whole, begin, begin + static_cast<uint32_t>(word.size())});
    if (cache_->append(word, begin, out)) return;
    symbols.clear();
    symbols.reserve(std::min(word.size(), usual_word));
    divide(word, symbols);
    // Lengths are added up, as in the reference: behind a dropped code point, tokens begin too early.
    const size_t before = out.size();
    for (const Symbol& symbol : symbols) {
      out.push_back({symbol.id, begin, begin + symbol.length});
      begin += symbol.length;
    }
    cache_->keep(word, static_cast<uint32_t>(offset), std::span(out).subspan(before));
  }

  // Lengths are added up in the whole word if code points may be dropped.
  bool can_be_merged_in_parts() const { return !has_bytes_ && unknown_id_ >= 0 && prefix_.empty() && suffix_.empty(); }

  const Vocabulary& words() const { return has_bytes_ ? bytes_ : vocabulary_; }
  int64_t find_word(std::string_view word) const { return words().find(word); }

  void make_byte_vocabulary() {
    for (int64_t id = 0; id < vocabulary_.end(); ++id) {
      const std::string* token = vocabulary_.text(id);
      if (token == nullptr) continue;
      if (auto bytes = bytes_of(*token)) bytes_.add(std::move(*bytes), id);
    }
    for (int byte = 0; byte < 256; ++byte)
      byte_ids_[static_cast<size_t>(byte)] = bytes_.find(std::string(1, static_cast<char>(byte)));
  }

  void read_merges(const std::vector<json::Node>& merges) {
    uint32_t rank = 0;
    for (const json::Node& merge : merges) {
      const auto [left, right] = pair_of(merge);
      const std::string joined = left + right.substr(right.starts_with(prefix_) ? prefix_.size() : 0);
      const uint32_t left_id = id_in_merge(left), right_id = id_in_merge(right);
      merges_.add(left_id, right_id, rank++, id_in_merge(joined));
    }
  }
  // "a b" or ["a", "b"].
  static std::pair<std::string, std::string> pair_of(const json::Node& merge) {
    using Kind = json::Node::Kind;
    if (merge.is(Kind::array) && merge.items.size() == 2 && merge.items[0].is(Kind::string) &&
        merge.items[1].is(Kind::string))
      return {merge.items[0].string, merge.items[1].string};
    const size_t space = merge.is(Kind::string) ? merge.string.find(' ') : std::string::npos;
    if (space == std::string::npos) throw UserError("a merge must be \"a b\" or [\"a\", \"b\"]");
    return {merge.string.substr(0, space), merge.string.substr(space + 1)};
  }
  uint32_t id_in_merge(const std::string& token) const {
    const int64_t id = vocabulary_.find(token);
    if (id < 0)
      throw UserError(text::cat("a merge has the token \"", printable(token), "\", which is not in the vocabulary"));
    return static_cast<uint32_t>(id);
  }

  // Most words are tokens that their own merges lead to: those need no merging.
  void find_whole_tokens() {
    is_whole_.resize(static_cast<size_t>(vocabulary_.end()));
    std::vector<Symbol> symbols;
    for (int64_t id = 0; id < words().end(); ++id) {
      const std::string* token = words().text(id);
      if (token == nullptr || token->empty()) continue;
      symbols.clear();
      divide(*token, symbols);
      is_whole_[static_cast<size_t>(id)] =
          symbols.size() == 1 && static_cast<int64_t>(symbols[0].id) == id && symbols[0].length == token->size();
    }
  }

  void divide(std::string_view word, std::vector<Symbol>& symbols) const {
    has_bytes_ ? divide_bytes(word, symbols) : divide_characters(word, symbols);
    merge_symbols(symbols, merges_);
  }

  void divide_bytes(std::string_view word, std::vector<Symbol>& symbols) const {
    Unknown unknown;
    for (const char c : word) {
      const int64_t id = byte_ids_[static_cast<unsigned char>(c)];
      if (id >= 0) add_known(id, 1, unknown, symbols);
      else add_unknown(1, unknown, symbols);
    }
    flush(unknown, symbols);
  }

  void divide_characters(std::string_view word, std::vector<Symbol>& symbols) const {
    Unknown unknown;
    const bool is_affixed = !prefix_.empty() || !suffix_.empty();
    std::string affixed;
    for (size_t at = 0; at < word.size();) {
      const size_t begin = at;
      next(word, at);
      const auto length = static_cast<uint32_t>(at - begin);
      std::string_view token = word.substr(begin, length);
      if (is_affixed) {
        affixed = begin == 0 ? std::string() : prefix_;
        affixed += token;
        if (at == word.size()) affixed += suffix_;
        token = affixed;
      }
      const bool is_ascii_character = length == 1 && !is_affixed;
      const int64_t id = is_ascii_character ? ascii_ids_[static_cast<size_t>(token[0])] : vocabulary_.find(token);
      if (id >= 0) add_known(id, length, unknown, symbols);
      else if (!has_byte_fallback_ || !add_bytes(token, symbols)) add_unknown(length, unknown, symbols);
    }
    flush(unknown, symbols);
  }

  // A run of code points that are not in the vocabulary.
  struct Unknown {
    bool exists = false;
    uint32_t length = 0;
  };
  void flush(Unknown& unknown, std::vector<Symbol>& symbols) const {
    if (unknown.exists) symbols.push_back({static_cast<uint32_t>(unknown_id_), unknown.length});
    unknown.exists = false;
  }
  void add_known(int64_t id, uint32_t length, Unknown& unknown, std::vector<Symbol>& symbols) const {
    flush(unknown, symbols);
    symbols.push_back({static_cast<uint32_t>(id), length});
  }
  // Without an unknown token the code point is dropped.
  void add_unknown(uint32_t length, Unknown& unknown, std::vector<Symbol>& symbols) const {
    if (!has_unknown_) return;
    if (unknown_id_ < 0) throw UserError("\"unk_token\" is not in the vocabulary");
    if (unknown.exists && fuses_unknown_) {
      unknown.length += length;
      return;
    }
    flush(unknown, symbols);
    unknown = {true, length};
  }
  // All bytes have tokens, or none is added.
  bool add_bytes(std::string_view token, std::vector<Symbol>& symbols) const {
    std::vector<Symbol> bytes;
    for (const char c : token) {
      const int64_t id = vocabulary_.find(byte_token(static_cast<unsigned char>(c)));
      if (id < 0) return false;
      bytes.push_back({static_cast<uint32_t>(id), 1});
    }
    symbols.insert(symbols.end(), bytes.begin(), bytes.end());
    return true;
  }

  bool has_bytes_, fuses_unknown_, has_byte_fallback_, ignores_merges_;
  bool has_unknown_ = false;
  int64_t unknown_id_ = -1;
  std::string prefix_, suffix_;
  MergeTable merges_;
  Vocabulary bytes_;  // tokens as bytes
  std::array<int64_t, 256> byte_ids_{};
  std::array<int64_t, 128> ascii_ids_{};  // of the characters as tokens; -1: there is none
  std::vector<bool> is_whole_;
  std::optional<SplitPoints> split_points_;
  std::unique_ptr<WordCache> cache_;  // of words that are not tokens
};

}  // namespace

std::unique_ptr<const Model> make_bpe(const json::Node& component, bool has_bytes) {
  return std::make_unique<Bpe>(component, has_bytes);
}

}  // namespace fulgurite::tokenization
