#include "tokenizer/models/merge_table.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <queue>

namespace fulgurite::tokenization {

namespace {

constexpr size_t longest_scanned = 40;  // of longer words the pairs are in a heap
constexpr uint32_t no_rank = std::numeric_limits<uint32_t>::max();

// The ranks are apart from the results: the search of the lowest one reads vectors of them.
void merge_by_scan(std::vector<Symbol>& symbols, const MergeTable& merges) {
  uint32_t ranks[longest_scanned], results[longest_scanned];  // by the left symbol
  size_t count = symbols.size();
  const auto look_up = [&](size_t i) {
    const MergeTable::Merge* merge = i + 1 < count ? merges.find(symbols[i].id, symbols[i + 1].id) : nullptr;
    ranks[i] = merge != nullptr ? merge->rank : no_rank;
    results[i] = merge != nullptr ? merge->result : 0;
  };
  for (size_t i = 0; i < count; ++i) look_up(i);
  while (count > 1) {
    uint32_t lowest = no_rank;
    for (size_t i = 0; i < count; ++i) lowest = std::min(lowest, ranks[i]);
    if (lowest == no_rank) break;
    const auto best = static_cast<size_t>(std::find(ranks, ranks + count, lowest) - ranks);
    symbols[best].id = results[best];
    symbols[best].length += symbols[best + 1].length;
    --count;
    for (size_t i = best + 1; i < count; ++i) {
      symbols[i] = symbols[i + 1];
      ranks[i] = ranks[i + 1];
      results[i] = results[i + 1];
    }
    look_up(best);
    if (best > 0) look_up(best - 1);
  }
  symbols.resize(count);
}

struct Candidate {
  uint32_t rank, left, result, left_id, right_id;
  bool operator>(const Candidate& other) const { return rank != other.rank ? rank > other.rank : left > other.left; }
};

class HeapMerger {
 public:
  HeapMerger(std::vector<Symbol>& symbols, const MergeTable& merges) : symbols_(symbols), merges_(merges) {
    const auto count = static_cast<uint32_t>(symbols.size());
    for (uint32_t i = 0; i < count; ++i) {
      next_.push_back(i + 1);
      previous_.push_back(i - 1);  // of the first: beyond the end
    }
  }
  void run() {
    for (uint32_t i = 0; i + 1 < symbols_.size(); ++i) push(i);
    while (!heap_.empty()) {
      const Candidate best = heap_.top();
      heap_.pop();
      if (is_current(best)) join(best);
    }
    std::erase_if(symbols_, [](const Symbol& symbol) { return symbol.length == 0; });
  }

 private:
  bool is_symbol(uint32_t i) const { return i < symbols_.size(); }
  void push(uint32_t left) {
    const uint32_t right = next_[left];
    if (!is_symbol(right)) return;
    if (const auto* merge = merges_.find(symbols_[left].id, symbols_[right].id))
      heap_.push({merge->rank, left, merge->result, symbols_[left].id, symbols_[right].id});
  }
  bool is_current(const Candidate& c) const {
    const uint32_t right = next_[c.left];
    return symbols_[c.left].length != 0 && is_symbol(right) && symbols_[c.left].id == c.left_id &&
           symbols_[right].id == c.right_id;
  }
  void join(const Candidate& c) {
    const uint32_t right = next_[c.left];
    symbols_[c.left].id = c.result;
    symbols_[c.left].length += symbols_[right].length;
    symbols_[right].length = 0;
    next_[c.left] = next_[right];
    if (is_symbol(next_[c.left])) previous_[next_[c.left]] = c.left;
    if (is_symbol(previous_[c.left])) push(previous_[c.left]);
    push(c.left);
  }
  std::vector<Symbol>& symbols_;
  const MergeTable& merges_;
  std::vector<uint32_t> next_, previous_;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> heap_;
};

}  // namespace

MergeTable::MergeTable(size_t count) : entries_(std::bit_ceil(2 * count + 2)), mask_(entries_.size() - 1) {}

void MergeTable::add(uint32_t left, uint32_t right, uint32_t rank, uint32_t result) {
  const uint64_t pair = static_cast<uint64_t>(left) << 32 | right;
  size_t at = place(pair);
  while (entries_[at].pair != no_pair && entries_[at].pair != pair) at = (at + 1) & mask_;
  entries_[at] = {pair, rank, result};
}

void merge_symbols(std::vector<Symbol>& symbols, const MergeTable& merges) {
  if (symbols.size() <= longest_scanned) return merge_by_scan(symbols, merges);
  HeapMerger(symbols, merges).run();
}

}  // namespace fulgurite::tokenization
