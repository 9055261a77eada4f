#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "tokenizer/models/model.h"

namespace fulgurite::tokenization {

/// The places of a text that no token crosses: between two code points that are tokens, and that no longer token has
/// one after the other. Merges on both sides of one do not depend on each other, so a long text is merged in parts.
class SplitPoints {
 public:
  explicit SplitPoints(const Vocabulary& vocabulary);
  bool is_between(char32_t left, char32_t right) const {
    const size_t a = frequent_index(left), b = frequent_index(right);
    return a < frequent && b < frequent ? splits_frequent_[a * frequent + b] : is_split(left, right);
  }

 private:
  // ASCII and the replacement of spaces, U+2581, in the place of U+0000, which is not in texts.
  static constexpr size_t frequent = 128;
  static size_t frequent_index(char32_t code) { return code == 0x2581 ? 0 : code == 0 ? frequent : code; }
  bool is_split(char32_t left, char32_t right) const {
    return is_token_[left] && is_token_[right] && !has_pair(static_cast<uint64_t>(left) << 32 | right);
  }
  static constexpr uint64_t none = ~uint64_t{0};
  size_t place(uint64_t pair) const { return (pair * 0x9E3779B97F4A7C15U >> 24) & (pairs_.size() - 1); }
  bool has_pair(uint64_t pair) const {
    for (size_t at = place(pair);; at = (at + 1) & (pairs_.size() - 1)) {
      if (pairs_[at] == pair) return true;
      if (pairs_[at] == none) return false;
    }
  }
  void add(uint64_t pair);
  void grow();

  std::array<bool, frequent* frequent> splits_frequent_ = {};  // is_split, by the indices of frequent code points
  std::vector<bool> is_token_;                                 // by code point
  std::vector<uint64_t> pairs_;                                // open addressing; a power of two
  size_t count_ = 0;
};

}  // namespace fulgurite::tokenization
