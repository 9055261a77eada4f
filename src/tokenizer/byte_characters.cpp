#include "tokenizer/byte_characters.h"

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
  std::string out(content);
  std::vector<Range> origins(content.size(), text.origin(0, first));
  out += text.text;
  for (size_t i = 0; i < text.text.size(); ++i) origins.push_back(text.origin(i, i + 1));
  // Each byte of a code point has the origin of all of it.
  for (size_t i = content.size(); i < content.size() + first; ++i) origins[i] = text.origin(0, first);
  return arena.keep(std::move(out), std::move(origins), text.base);
}

}  // namespace fulgurite::tokenization
