#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/models/model.h"

namespace fulgurite::tokenization {

/// The tokens of words that were divided lately, in a table of a fixed size: a word replaces another one at its place.
/// Threads may share it: an entry that another thread writes at the moment is not found.
class WordCache {
 public:
  /// Room for some words per token, in at most 1 MiB.
  explicit WordCache(int64_t tokens);
  /// Appends the tokens of a word that begins at `offset`. False if it is not in the cache.
  bool append(std::string_view word, uint32_t offset, std::vector<Token>& out) const;
  /// Words that are too long, or have too many tokens, are not kept.
  void keep(std::string_view word, uint32_t offset, std::span<const Token> tokens);

 private:
  static constexpr size_t max_bytes = 24, max_tokens = 4;
  struct Key {
    uint64_t words[max_bytes / 8] = {};  // the bytes, zeros behind them
    size_t size;
    explicit Key(std::string_view word);
    uint64_t hash() const;
  };
  // A sequence lock: the version is odd while the entry is written. Loads acquire and stores release, so a reader that
  // sees a part of a write also sees that the version has changed.
  struct alignas(64) Entry {
    std::atomic<uint32_t> version{0};
    std::atomic<uint16_t> size{0}, count{0};  // of the word's bytes, and of its tokens
    std::atomic<uint64_t> words[max_bytes / 8] = {};
    std::atomic<uint64_t> tokens[max_tokens] = {};  // id, begin and end in 32, 16 and 16 bits
  };
  Entry& entry(const Key& key) const { return entries_[key.hash() & mask_]; }

  size_t mask_;
  std::unique_ptr<Entry[]> entries_;
};

}  // namespace fulgurite::tokenization
