#include "support/text/wrap.h"

#include <algorithm>

namespace fulgurite::text {

namespace {

// The width of UTF-8 text, with a column for each code point.
size_t columns(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

std::string wrap(std::string_view text, size_t width, size_t indent) {
  const size_t leading = std::min(text.find_first_not_of(' '), text.size());
  std::string out(leading, ' ');
  size_t used = leading;
  bool is_first = true;
  for (size_t at = leading; at < text.size();) {
    const size_t begin = std::min(text.find_first_not_of(' ', at), text.size());
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const std::string_view spaces = text.substr(at, begin - at);
    if (!is_first && used + spaces.size() + columns(word) > width) {
      out += "\n" + std::string(indent, ' ');
      used = indent;
    } else {
      out += spaces;
      used += spaces.size();
    }
    out += word;
    used += columns(word);
    is_first = false;
    at = end;
  }
  return out;
}

}  // namespace fulgurite::text
