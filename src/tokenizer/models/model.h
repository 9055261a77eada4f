#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "io/json.h"

namespace fulgurite::tokenization {

/// A token of a word: its bytes are [begin, end) of the word.
struct Token {
  int64_t id;
  uint32_t begin, end;
};

/// Maps texts of tokens to ids, and back.
class Vocabulary {
 public:
  void add(std::string text, int64_t id);
  /// -1 if there is no such token.
  int64_t find(std::string_view text) const;
  /// Null if there is no such id.
  const std::string* text(int64_t id) const;
  /// The number of tokens, and one more than the largest id.
  int64_t size() const { return static_cast<int64_t>(ids_.size()); }
  int64_t end() const { return static_cast<int64_t>(texts_.size()); }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> ids_;
  std::vector<const std::string*> texts_;
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
/// True for a BPE whose tokens have no prefixes or suffixes.
bool can_have_bytes(const json::Node& component);

// The kinds with a file of their own.
std::unique_ptr<const Model> make_bpe(const json::Node& component, bool has_bytes);
std::unique_ptr<const Model> make_unigram(const json::Node& component);
std::unique_ptr<const Model> make_wordpiece(const json::Node& component);

/// The token of a byte: "<0x0A>".
std::string byte_token(unsigned char byte);

}  // namespace fulgurite::tokenization
