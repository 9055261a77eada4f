#include "support/text/utf8.h"

namespace fulgurite {

int64_t next_code_point(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(at);
  if (first < 0x80) {
    ++at;
    return first;
  }
  const int length = first >= 0xF0 && first < 0xF5   ? 4
                     : first >= 0xE0 && first < 0xF0 ? 3
                     : first >= 0xC2 && first < 0xE0 ? 2
                                                     : 0;
  if (length == 0 || at + length > text.size()) return -1;
  uint32_t code = first & (0xFF >> (length + 1));
  for (int i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return -1;
    code = code << 6 | (byte(at + i) & 0x3F);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  if (overlong || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return -1;
  at += length;
  return code;
}

bool is_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();)
    if (next_code_point(text, at) < 0) return false;
  return true;
}

std::string printable(std::string_view text, size_t longest) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (out.size() >= longest) return out + "…";
    const size_t begin = at;
    const int64_t code = next_code_point(text, at);
    if (code < 0) ++at;
    if (code < ' ' || code == 0x7F) out += '?';
    else out += text.substr(begin, at - begin);
  }
  return out;
}

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

}  // namespace fulgurite
