#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fulgurite::tokenization {

/// The merges of BPE: the rank and the result of each pair of tokens that is merged.
class MergeTable {
 public:
  struct Merge {
    uint64_t pair = no_pair;
    uint32_t rank = 0, result = 0;
  };

  explicit MergeTable(size_t count);
  /// A later merge of a pair replaces an earlier one.
  void add(uint32_t left, uint32_t right, uint32_t rank, uint32_t result);
  /// Null if the pair is not merged.
  const Merge* find(uint32_t left, uint32_t right) const {
    const uint64_t pair = static_cast<uint64_t>(left) << 32 | right;
    for (size_t at = place(pair);; at = (at + 1) & mask_) {
      if (entries_[at].pair == pair) return &entries_[at];
      if (entries_[at].pair == no_pair) return nullptr;
    }
  }

 private:
  static constexpr uint64_t no_pair = ~uint64_t{0};
  size_t place(uint64_t pair) const { return (pair * 0x9E3779B97F4A7C15U >> 24) & mask_; }
  std::vector<Merge> entries_;  // open addressing
  size_t mask_;
};

/// A token of a word while it is merged, and its length in bytes.
struct Symbol {
  uint32_t id, length;
};

/// Merges neighbours, the lowest rank first and of equal ranks the leftmost, until no pair is in the table.
void merge_symbols(std::vector<Symbol>& symbols, const MergeTable& merges);

}  // namespace fulgurite::tokenization
