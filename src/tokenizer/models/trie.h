#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace fulgurite::tokenization {

/// Texts by their bytes: finds all of them that begin a text in one walk.
class Trie {
 public:
  static constexpr uint32_t root = 0, none = ~uint32_t{0};

  Trie() : nodes_(1), bytes_(1) { first_.fill(none); }
  /// The first of equal texts counts.
  explicit Trie(std::vector<std::pair<std::string_view, int64_t>> texts);

  /// The node behind a byte; `none` if no text goes on with it.
  uint32_t child(uint32_t node, char byte) const {
    if (node == root) return first_[static_cast<unsigned char>(byte)];
    const Node& at = nodes_[node];
    if (at.children > 8) {
      const void* const found = std::memchr(&bytes_[at.first_child], byte, at.children);
      return found == nullptr ? none : static_cast<uint32_t>(static_cast<const char*>(found) - bytes_.data());
    }
    for (uint32_t i = at.first_child, end = i + at.children; i < end; ++i)
      if (bytes_[i] == byte) return i;
    return none;
  }
  /// The node behind a text; `none` if no text begins with it.
  uint32_t find(std::string_view text) const;
  /// The id of the text that ends at a node; -1 if none does.
  int64_t id(uint32_t node) const { return nodes_[node].id; }

 private:
  // The children of a node are stored together.
  struct Node {
    uint32_t first_child = 0, children = 0;
    int64_t id = -1;
  };
  std::vector<Node> nodes_;
  std::vector<char> bytes_;               // by node: the byte that leads to it
  std::array<uint32_t, 256> first_ = {};  // the nodes behind a first byte
};

}  // namespace fulgurite::tokenization
