#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/json.h"
#include "tokenizer/models/short_text.h"

namespace fulgurite::tokenization {

/// A token of a word: its bytes are [begin, end) of the word.
struct Token {
  int64_t id;
  uint32_t begin, end;
};

/// Maps texts of tokens to ids, and back.
class Vocabulary {
 public:
  /// A text that is in it already keeps its id.
  void add(std::string text, int64_t id);
  /// -1 if there is no such token.
  int64_t find(std::string_view text) const {
    if (text.size() > longest_ || slots_.empty()) return -1;
    const uint64_t hash = hash_of(text);
    for (size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      const Slot slot = slots_[at];
      if (slot.item < 0) return -1;
      const Item& item = items_[static_cast<size_t>(slot.item)];
      if (slot.check == check_of(hash) && is_equal(item.text, text)) return item.id;
    }
  }
  /// Null if there is no such id.
  const std::string* text(int64_t id) const;
  /// The number of tokens, one more than the largest id, and the bytes of the longest token.
  int64_t size() const { return static_cast<int64_t>(items_.size()); }
  int64_t end() const { return static_cast<int64_t>(items_of_ids_.size()); }
  size_t longest() const { return longest_; }
  /// Each text with its id; the texts are valid as long as the vocabulary is not changed.
  std::vector<std::pair<std::string_view, int64_t>> all() const;

 private:
  struct Item {
    std::string text;
    int64_t id;
  };
  struct Slot {
    uint32_t check = 0;  // a part of the hash
    int32_t item = -1;
  };
  static uint32_t check_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }
  void place(uint64_t hash, int32_t item);
  void grow();

  std::vector<Item> items_;
  std::vector<Slot> slots_;            // open addressing; a power of two
  std::vector<int32_t> items_of_ids_;  // -1: no token has the id
  size_t longest_ = 0;
};

/// Divides a word into tokens.
class Model {
 public:
  virtual ~Model() = default;
  virtual void tokenize(std::string_view word, std::vector<Token>& out) const = 0;
  const Vocabulary& vocabulary() const { return vocabulary_; }

 protected:
  /// Reads {"token": id, …}. UserError for ids that are negative or absurdly large.
  void read_vocabulary(const json::Node& component);
  Vocabulary vocabulary_;
};

/// Makes the model that tokenizer.json describes. With `has_bytes`, BPE's words are bytes, while its vocabulary is in
/// the characters of bytes. UserError for kinds that there are not.
std::unique_ptr<const Model> make_model(const json::Node& component, bool has_bytes);
/// True for a BPE whose tokens have no prefixes or suffixes, and with a token for each byte: the reference counts
/// offsets behind a dropped byte in the characters of bytes.
bool can_have_bytes(const json::Node& component);

// The kinds with a file of their own.
std::unique_ptr<const Model> make_bpe(const json::Node& component, bool has_bytes);
std::unique_ptr<const Model> make_unigram(const json::Node& component);
std::unique_ptr<const Model> make_wordpiece(const json::Node& component);

/// The token of a byte: "<0x0A>".
std::string byte_token(unsigned char byte);

}  // namespace fulgurite::tokenization
