#include "tokenizer/models/trie.h"

#include <algorithm>

namespace fulgurite::tokenization {

Trie::Trie(std::vector<std::pair<std::string_view, int64_t>> texts) : nodes_(1), bytes_(1) {
  std::stable_sort(texts.begin(), texts.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  // A node whose children are to be made: it has texts [begin, end), which share their first `depth` bytes.
  struct Open {
    uint32_t node;
    size_t begin, end, depth;
  };
  std::vector<Open> level{{root, 0, texts.size(), 0}}, next_level;
  for (; !level.empty(); level.swap(next_level)) {
    next_level.clear();
    for (auto [node, begin, end, depth] : level) {
      if (begin < end && texts[begin].first.size() == depth) nodes_[node].id = texts[begin].second;
      while (begin < end && texts[begin].first.size() == depth) ++begin;
      while (begin < end) {
        const char byte = texts[begin].first[depth];
        const size_t first = begin;
        while (begin < end && texts[begin].first[depth] == byte) ++begin;
        const auto child = static_cast<uint32_t>(nodes_.size());
        if (nodes_[node].children++ == 0) nodes_[node].first_child = child;
        nodes_.emplace_back();
        bytes_.push_back(byte);
        next_level.push_back({child, first, begin, depth + 1});
      }
    }
  }
  first_.fill(none);
  for (uint32_t i = 0; i < nodes_[root].children; ++i)
    first_[static_cast<unsigned char>(bytes_[nodes_[root].first_child + i])] = nodes_[root].first_child + i;
}

uint32_t Trie::find(std::string_view text) const {
  uint32_t node = root;
  for (size_t i = 0; i < text.size() && node != none; ++i) node = child(node, text[i]);
  return node;
}

}  // namespace fulgurite::tokenization
