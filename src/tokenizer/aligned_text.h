#pragma once
#include <cstdint>
#include <forward_list>
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
  Range origin(size_t begin, size_t end) const {
    if (begin >= end) return {base, base};
    if (origins != nullptr) return {origins[begin].begin, origins[end - 1].end};
    return {base + static_cast<uint32_t>(begin), base + static_cast<uint32_t>(end)};
  }
};

/// The memory of changed texts; valid as long as the arena.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
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
  std::forward_list<std::string> texts_;
  std::forward_list<std::vector<Range>> origins_;
  // Rooms are parts of blocks: the first is in the arena, as most texts are lines, and each is larger than the one
  // before. A block has the origins before the bytes.
  static constexpr size_t first_size = 512, room_bytes = sizeof(Range) + 1;
  alignas(Range) char first_[first_size * room_bytes];
  std::vector<std::unique_ptr<char[]>> more_;
  char* block_ = first_;
  size_t size_ = first_size, used_ = 0;  // of the last block: characters, and those in rooms
};

/// The text with each `from` replaced by `to`, whose bytes have the origin of the last code point of `from`.
AlignedText replace_all(const AlignedText& text, std::string_view from, std::string_view to, Arena& arena);

/// A code point of a changed text, and how it came to be: 0 replaces a code point, 1 is inserted behind one, and -n
/// replaces one and removes n behind it.
struct Change {
  char32_t code;
  int change;
};

/// The text of `changes`, made of `from` without its first `removed` code points.
AlignedText apply_changes(const AlignedText& from, std::span<const Change> changes, size_t removed, Arena& arena);

}  // namespace fulgurite::tokenization
