#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fulgurite::tokenization {

/// Bytes of the original text: [begin, end).
struct Range {
  uint32_t begin = 0, end = 0;
};

/// A part of a text that normalizers may have changed, with the origin of each byte. The bytes are those of an arena or
/// of the caller's text.
struct AlignedText {
  std::string_view text;
  const Range* origins = nullptr;  // by byte; null: byte i is byte base + i of the original
  uint32_t base = 0;               // where the part begins in the original

  bool empty() const { return text.empty(); }
  /// The part at [begin, end).
  AlignedText part(size_t begin, size_t end) const;
  /// The original bytes of [begin, end).
  Range origin(size_t begin, size_t end) const;
};

/// The memory of changed texts; valid as long as the arena.
class Arena {
 public:
  /// Keeps a text whose bytes have these origins.
  AlignedText keep(std::string text, std::vector<Range> origins, uint32_t base);
  /// Keeps a text whose bytes have the origins of `like`, which is as long.
  AlignedText keep_like(std::string text, const AlignedText& like);
  /// Uninitialised memory for a text and its origins.
  struct Room {
    char* text;
    Range* origins;
  };
  Room make_room(size_t size);

 private:
  std::deque<std::string> texts_;
  std::deque<std::vector<Range>> origins_;
  // Rooms are parts of blocks, of which each is larger than the one before.
  std::deque<std::unique_ptr<char[]>> text_blocks_;
  std::deque<std::unique_ptr<Range[]>> origin_blocks_;
  size_t block_ = 0, used_ = 0;  // of the last block: its size, and the rooms in it
};

/// A code point of a changed text, and how it came to be: 0 replaces a code point, 1 is inserted behind one, and -n
/// replaces one and removes n behind it.
struct Change {
  char32_t code;
  int change;
};

/// The text of `changes`, made of `from` without its first `removed` code points.
AlignedText apply_changes(const AlignedText& from, std::span<const Change> changes, size_t removed, Arena& arena);

}  // namespace fulgurite::tokenization
