#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace fulgurite::tokenization {

// Classes of code points as the Rust library `tokenizers` has them.

/// `next` for a code point that is not ASCII.
char32_t next_beyond_ascii(std::string_view text, size_t& at);
/// Reads a code point and moves past it. The text is UTF-8.
inline char32_t next(std::string_view text, size_t& at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte >= 0x80) return next_beyond_ascii(text, at);
  ++at;
  return byte;
}
/// The property White_Space.
bool is_whitespace(char32_t c);
/// Numbers of all kinds: Nd, Nl, No.
bool is_numeric(char32_t c);
/// Categories P*, and all of ASCII's signs.
bool is_punctuation(char32_t c);
/// Categories C* but unassigned ones, without tabulator and line ends.
bool is_control(char32_t c);
/// The category Mn.
bool is_nonspacing_mark(char32_t c);
/// The categories M*.
bool is_mark(char32_t c);
/// Letters, marks, decimal and letter numbers, connecting punctuation and joiners: Unicode's \\w.
bool is_word(char32_t c);
/// A code point of a block of Chinese characters.
bool is_chinese(char32_t c);
/// The lower case; two code points for U+0130.
std::u32string lowercase(char32_t c);
bool is_ascii(std::string_view text);
/// Appends a code point.
void append(std::string& out, char32_t c);
std::string utf8(std::u32string_view text);
std::u32string utf32(std::string_view text);
/// Returns bytes as UTF-8: each maximal part of an invalid sequence becomes one U+FFFD.
std::string repair_utf8(std::string_view bytes);

}  // namespace fulgurite::tokenization
