#include "tokenizer/aligned_text.h"

#include <algorithm>

#include "tokenizer/unicode.h"

namespace fulgurite::tokenization {

AlignedText AlignedText::part(size_t begin, size_t end) const {
  const std::string_view bytes = text.substr(begin, end - begin);
  if (origins != nullptr) return {bytes, origins + begin, begin < text.size() ? origins[begin].begin : base};
  return {bytes, nullptr, base + static_cast<uint32_t>(begin)};
}

Range AlignedText::origin(size_t begin, size_t end) const {
  if (begin >= end) return {base, base};
  if (origins != nullptr) return {origins[begin].begin, origins[end - 1].end};
  return {base + static_cast<uint32_t>(begin), base + static_cast<uint32_t>(end)};
}

AlignedText Arena::keep(std::string text, std::vector<Range> origins, uint32_t base) {
  texts_.push_back(std::move(text));
  origins_.push_back(std::move(origins));
  return {texts_.back(), origins_.back().data(), base};
}

AlignedText Arena::keep_like(std::string text, const AlignedText& like) {
  texts_.push_back(std::move(text));
  return {texts_.back(), like.origins, like.base};
}

Arena::Room Arena::make_room(size_t size) {
  if (block_ - used_ < size) {
    block_ = std::max(size, std::min<size_t>(2 * block_ + 1024, 1 << 20));
    used_ = 0;
    text_blocks_.push_back(std::make_unique_for_overwrite<char[]>(block_));
    origin_blocks_.push_back(std::make_unique_for_overwrite<Range[]>(block_));
  }
  const size_t begin = used_;
  used_ += size;
  return {text_blocks_.back().get() + begin, origin_blocks_.back().get() + begin};
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
