#include "tokenizer/unicode.h"

#include <algorithm>
#include <cstring>
#include <utf8proc.h>

#include "support/text/utf8.h"
#include "tokenizer/later_unicode.h"

namespace fulgurite::tokenization {

namespace {

utf8proc_category_t category(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

bool is_in(char32_t c, char32_t first, char32_t last) { return c >= first && c <= last; }

// The length of the maximal valid beginning of a sequence at `at`, at least 1; `is_complete` if it is a character.
size_t sequence_length(std::string_view bytes, size_t at, bool& is_complete) {
  const auto byte = [&](size_t i) { return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U; };
  const unsigned first = byte(at);
  const size_t length = first < 0x80               ? 1
                        : is_in(first, 0xC2, 0xDF) ? 2
                        : is_in(first, 0xE0, 0xEF) ? 3
                        : is_in(first, 0xF0, 0xF4) ? 4
                                                   : 0;
  is_complete = length == 1;
  if (length < 2) return 1;
  unsigned low = 0x80, high = 0xBF;  // of the second byte
  if (first == 0xE0) low = 0xA0;
  if (first == 0xED) high = 0x9F;
  if (first == 0xF0) low = 0x90;
  if (first == 0xF4) high = 0x8F;
  for (size_t i = 1; i < length; ++i, low = 0x80, high = 0xBF)
    if (!is_in(byte(at + i), low, high)) return i;
  is_complete = true;
  return length;
}

}  // namespace

char32_t next_beyond_ascii(std::string_view text, size_t& at) {
  const int64_t code = next_code_point(text, at);
  if (code >= 0) return static_cast<char32_t>(code);
  ++at;
  return U'\uFFFD';
}

bool is_whitespace(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || is_in(c, 0x2000, 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_numeric(char32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  return category(c) == UTF8PROC_CATEGORY_ND || category(c) == UTF8PROC_CATEGORY_NL ||
         category(c) == UTF8PROC_CATEGORY_NO;
}

bool is_punctuation(char32_t c) {
  if (c < 0x80) return is_in(c, '!', '/') || is_in(c, ':', '@') || is_in(c, '[', '`') || is_in(c, '{', '~');
  if (c == 0x166D || c == 0x111C9) return true;  // signs that later became symbols
  return is_in(category(c), UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO) && !is_later_punctuation(c);
}

bool is_control(char32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  const utf8proc_category_t kind = category(c);
  const bool is_other = kind == UTF8PROC_CATEGORY_CC || kind == UTF8PROC_CATEGORY_CF || kind == UTF8PROC_CATEGORY_CO ||
                        kind == UTF8PROC_CATEGORY_CS;
  return is_other && !is_later_control(c);
}

bool is_nonspacing_mark(char32_t c) {
  if (c < 0x80 || is_later_nonspacing_mark(c)) return false;
  return category(c) == UTF8PROC_CATEGORY_MN || c == 0x1734;
}

bool is_mark(char32_t c) {
  if (c < 0x80 || is_later_mark(c)) return false;
  return is_in(category(c), UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME) || is_in(c, 0x1CF2, 0x1CF3);
}

bool is_word(char32_t c) {
  if (c < 0x80) return is_in(c, 'a', 'z') || is_in(c, 'A', 'Z') || is_in(c, '0', '9') || c == '_';
  const utf8proc_category_t kind = category(c);
  const bool is_circled_letter = is_in(c, 0x24B6, 0x24E9) || is_in(c, 0x1F130, 0x1F149) || is_in(c, 0x1F150, 0x1F169) ||
                                 is_in(c, 0x1F170, 0x1F189);
  return is_in(kind, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_NL) || kind == UTF8PROC_CATEGORY_PC || is_circled_letter ||
         c == 0x200C || c == 0x200D;
}

bool is_chinese(char32_t c) {
  return is_in(c, 0x4E00, 0x9FFF) || is_in(c, 0x3400, 0x4DBF) || is_in(c, 0x20000, 0x2A6DF) ||
         is_in(c, 0x2A700, 0x2B73F) || is_in(c, 0x2B740, 0x2B81F) || is_in(c, 0x2B920, 0x2CEAF) ||
         is_in(c, 0xF900, 0xFAFF) || is_in(c, 0x2F800, 0x2FA1F);
}

std::u32string lowercase(char32_t c) {
  if (c < 0x80) return {is_in(c, 'A', 'Z') ? c + 32 : c};
  if (c == 0x130) return U"i\u0307";
  return {static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)))};
}

bool is_ascii(std::string_view text) {
  constexpr uint64_t upper_bits = 0x8080808080808080U;
  uint64_t word = 0;
  for (; text.size() >= sizeof word; text.remove_prefix(sizeof word)) {
    std::memcpy(&word, text.data(), sizeof word);
    if ((word & upper_bits) != 0) return false;
  }
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

void append(std::string& out, char32_t c) { append_utf8(out, c); }

std::string utf8(std::u32string_view text) {
  std::string out;
  for (const char32_t c : text) append(out, c);
  return out;
}

std::u32string utf32(std::string_view text) {
  std::u32string out;
  for (size_t at = 0; at < text.size();) out += next(text, at);
  return out;
}

std::string repair_utf8(std::string_view bytes) {
  if (is_utf8(bytes)) return std::string(bytes);
  std::string out;
  for (size_t at = 0; at < bytes.size();) {
    bool is_complete = false;
    const size_t length = sequence_length(bytes, at, is_complete);
    out += is_complete ? bytes.substr(at, length) : std::string_view("\uFFFD");
    at += length;
  }
  return out;
}

}  // namespace fulgurite::tokenization
