#include "tokenizer/aligned_text.h"

#include <algorithm>

#include "tokenizer/unicode.h"

namespace fulgurite::tokenization {

namespace {

// As replace_all, for one byte, as the space that many tokenizers replace.
AlignedText replace_byte(const AlignedText& text, char from, std::string_view to, Arena& arena) {
  const std::string_view bytes = text.text;
  const auto matches = static_cast<size_t>(std::count(bytes.begin(), bytes.end(), from));
  if (matches == 0) return text;
  const Arena::Room room = arena.make_room(bytes.size() + matches * (to.size() - 1));
  size_t made = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const Range origin = text.origin(i, i + 1);
    if (bytes[i] != from) {
      room.text[made] = bytes[i];
      room.origins[made++] = origin;
      continue;
    }
    for (const char c : to) {
      room.text[made] = c;
      room.origins[made++] = origin;
    }
  }
  return {{room.text, made}, room.origins, text.base};
}

}  // namespace

AlignedText AlignedText::part(size_t begin, size_t end) const {
  const std::string_view bytes = text.substr(begin, end - begin);
  if (origins != nullptr) return {bytes, origins + begin, begin < text.size() ? origins[begin].begin : base};
  return {bytes, nullptr, base + static_cast<uint32_t>(begin)};
}

AlignedText Arena::keep(std::string text, std::vector<Range> origins, uint32_t base) {
  texts_.push_front(std::move(text));
  origins_.push_front(std::move(origins));
  return {texts_.front(), origins_.front().data(), base};
}

AlignedText Arena::keep_like(std::string text, const AlignedText& like) {
  texts_.push_front(std::move(text));
  return {texts_.front(), like.origins, like.base};
}

Arena::Room Arena::make_room(size_t size) {
  if (size_ - used_ < size) {
    size_ = std::max(size, std::min<size_t>(2 * size_, 1 << 20));
    used_ = 0;
    more_.push_back(std::make_unique_for_overwrite<char[]>(size_ * room_bytes));
    block_ = more_.back().get();
  }
  const size_t begin = used_;
  used_ += size;
  return {block_ + size_ * sizeof(Range) + begin, reinterpret_cast<Range*>(block_) + begin};
}

AlignedText replace_all(const AlignedText& text, std::string_view from, std::string_view to, Arena& arena) {
  const std::string_view bytes = text.text;
  if (from.size() == 1) return replace_byte(text, from[0], to, arena);
  size_t matches = 0;
  for (size_t at = 0; !from.empty() && (at = bytes.find(from, at)) != bytes.npos; at += from.size()) ++matches;
  if (matches == 0) return text;
  const size_t size = bytes.size() + matches * to.size() - matches * from.size();
  const Arena::Room room = arena.make_room(size);
  size_t last = from.size() - 1;  // the begin of its last code point
  while (last > 0 && (static_cast<unsigned char>(from[last]) & 0xC0) == 0x80) --last;
  size_t made = 0, done = 0;
  const auto copy_until = [&](size_t end) {
    for (; done < end; ++done, ++made) {
      room.text[made] = bytes[done];
      room.origins[made] = text.origin(done, done + 1);
    }
  };
  for (; matches > 0; --matches) {
    const size_t begin = bytes.find(from, done);
    copy_until(begin);
    done = begin + from.size();
    std::ranges::copy(to, room.text + made);
    std::fill_n(room.origins + made, to.size(), text.origin(begin + last, done));
    made += to.size();
  }
  copy_until(bytes.size());
  return {{room.text, size}, room.origins, text.base};
}

AlignedText apply_changes(const AlignedText& from, std::span<const Change> changes, size_t removed, Arena& arena) {
  std::string text;
  std::vector<Range> origins;
  text.reserve(from.text.size() + 8);
  origins.reserve(from.text.size() + 8);
  size_t at = 0;  // behind the last consumed code point
  Range last{from.base, from.base};
  const auto consume = [&] {
    if (at >= from.text.size()) return;
    const size_t begin = at;
    next(from.text, at);
    last = from.origin(begin, at);
  };
  for (size_t i = 0; i < removed; ++i) consume();
  for (const Change& change : changes) {
    if (change.change <= 0) consume();
    const Range origin = last;
    append(text, change.code);
    origins.resize(text.size(), origin);
    for (int i = change.change; i < 0; ++i) consume();
  }
  return arena.keep(std::move(text), std::move(origins), from.base);
}

}  // namespace fulgurite::tokenization
