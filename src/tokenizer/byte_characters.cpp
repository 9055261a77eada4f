#include "tokenizer/byte_characters.h"

#include <algorithm>

#include "tokenizer/unicode.h"

namespace fulgurite::tokenization {

namespace {

bool is_visible(unsigned c) { return (c >= '!' && c <= '~') || (c >= 0xA1 && c <= 0xAC) || (c >= 0xAE && c <= 0xFF); }

// The bytes that are not visible, in order.
unsigned hidden_byte(unsigned index) { return index < 33 ? index : index < 67 ? index - 33 + 0x7F : 0xAD; }
unsigned hidden_index(unsigned byte) { return byte < 33 ? byte : byte == 0xAD ? 67 : byte - 0x7F + 33; }

}  // namespace

char32_t character_of(unsigned char byte) { return is_visible(byte) ? byte : 0x100 + hidden_index(byte); }

std::optional<std::string> bytes_of(std::string_view characters) {
  std::string out;
  for (size_t at = 0; at < characters.size();) {
    const char32_t c = next(characters, at);
    if (c < 0x100 && is_visible(c)) out += static_cast<char>(c);
    else if (c >= 0x100 && c < 0x100 + 68) out += static_cast<char>(hidden_byte(c - 0x100));
    else return std::nullopt;
  }
  return out;
}

AlignedText to_byte_characters(const AlignedText& text, Arena& arena) {
  std::string out;
  std::vector<Range> origins;
  for (size_t at = 0; at < text.text.size();) {
    const size_t begin = at;
    next(text.text, at);
    const Range origin = text.origin(begin, at);
    for (size_t i = begin; i < at; ++i) append(out, character_of(static_cast<unsigned char>(text.text[i])));
    origins.resize(out.size(), origin);
  }
  return arena.keep(std::move(out), std::move(origins), text.base);
}

AlignedText prepend(const AlignedText& text, std::string_view content, Arena& arena) {
  size_t first = 0;
  if (!text.empty()) next(text.text, first);
  const size_t added = content.size(), size = added + text.text.size();
  const auto [out, origins] = arena.make_room(size);
  std::copy(content.begin(), content.end(), out);
  std::copy(text.text.begin(), text.text.end(), out + added);
  // Each byte of the first code point has the origin of all of it.
  std::fill_n(origins, added + first, text.origin(0, first));
  for (size_t i = first; i < text.text.size(); ++i) origins[added + i] = text.origin(i, i + 1);
  return {{out, size}, origins, text.base};
}

}  // namespace fulgurite::tokenization
