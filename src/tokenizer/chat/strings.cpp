#include "tokenizer/chat/strings.h"

#include <utf8proc.h>

#include <algorithm>

#include "support/text/utf8.h"
#include "tokenizer/chat/value.h"
#include "tokenizer/unicode.h"

namespace fulgurite::chat {

namespace {

bool is_space(std::string_view character) {
  size_t at = 0;
  const int64_t code = next_code_point(character, at);
  return (code >= 0x1c && code <= 0x1f) || (code >= 0 && tokenization::is_whitespace(static_cast<char32_t>(code)));
}

template <class Change>
std::string changed(std::string_view text, const Change& change) {
  std::string out;
  bool is_after_letter = false;
  for (const std::string_view character : characters(text)) {
    size_t at = 0;
    const int64_t code = next_code_point(character, at);
    if (code < 0) {
      out += character;
      continue;
    }
    change(out, static_cast<utf8proc_int32_t>(code), is_after_letter);
    const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
    is_after_letter = category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LT;
  }
  return out;
}

void append_upper(std::string& out, utf8proc_int32_t code) {
  if (code == 0xDF) out += "SS";
  else append_utf8(out, static_cast<uint32_t>(utf8proc_toupper(code)));
}
void append_lower(std::string& out, utf8proc_int32_t code) {
  for (const char32_t lower : tokenization::lowercase(static_cast<char32_t>(code))) append_utf8(out, lower);
}

}  // namespace

std::string strip(std::string_view text, const std::optional<std::string>& removed, bool from_begin, bool from_end) {
  const std::vector<std::string_view> all = characters(text);
  std::vector<std::string_view> set;
  if (removed) set = characters(*removed);
  const auto is_removed = [&](std::string_view character) {
    return removed ? std::find(set.begin(), set.end(), character) != set.end() : is_space(character);
  };
  size_t begin = 0, end = all.size();
  while (from_begin && begin < end && is_removed(all[begin])) ++begin;
  while (from_end && end > begin && is_removed(all[end - 1])) --end;
  std::string out;
  for (size_t i = begin; i < end; ++i) out += all[i];
  return out;
}

namespace {

std::vector<std::string> split_at_spaces(std::string_view text, int64_t most) {
  std::vector<std::string> out;
  const std::vector<std::string_view> all = characters(text);
  for (size_t i = 0; i < all.size();) {
    while (i < all.size() && is_space(all[i])) ++i;
    if (i == all.size()) break;
    const bool is_rest = most >= 0 && static_cast<int64_t>(out.size()) == most;
    std::string part;
    while (i < all.size() && (is_rest || !is_space(all[i]))) part += all[i++];
    out.push_back(is_rest ? strip(part, {}, false, true) : part);
  }
  return out;
}

}  // namespace

std::vector<std::string> split(std::string_view text, const std::optional<std::string>& separator, int64_t most) {
  if (!separator) return split_at_spaces(text, most);
  if (separator->empty()) fail("a separator is empty");
  std::vector<std::string> out;
  size_t begin = 0;
  for (size_t at = text.find(*separator); at != std::string_view::npos && most != 0;
       at = text.find(*separator, begin)) {
    out.emplace_back(text.substr(begin, at - begin));
    begin = at + separator->size();
    --most;
  }
  out.emplace_back(text.substr(begin));
  return out;
}

std::vector<std::string> split_from_end(std::string_view text, const std::optional<std::string>& separator,
                                        int64_t most) {
  std::vector<std::string> out;
  std::vector<std::string> all = split(text, separator, -1);
  if (most < 0 || static_cast<int64_t>(all.size()) <= most + 1) return all;
  const size_t joined = all.size() - static_cast<size_t>(most);
  std::string first;
  for (size_t i = 0; i < joined; ++i) first += (i ? separator.value_or(" ") : "") + all[i];
  out.push_back(first);
  out.insert(out.end(), all.begin() + static_cast<std::ptrdiff_t>(joined), all.end());
  return out;
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> out;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\n' && text[i] != '\r') continue;
    out.emplace_back(text.substr(begin, i - begin));
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') ++i;
    begin = i + 1;
  }
  if (begin < text.size()) out.emplace_back(text.substr(begin));
  return out;
}

std::string replace(std::string_view text, std::string_view from, std::string_view to, int64_t most) {
  std::string out;
  if (from.empty()) {
    for (const std::string_view character : characters(text)) {
      if (most != 0) out += to, --most;
      out += character;
    }
    return most != 0 ? out + std::string(to) : out;
  }
  size_t begin = 0;
  for (size_t at = text.find(from); at != std::string_view::npos && most != 0; at = text.find(from, begin)) {
    out += text.substr(begin, at - begin);
    out += to;
    begin = at + from.size();
    --most;
  }
  return out + std::string(text.substr(begin));
}

std::string upper(std::string_view text) {
  return changed(text, [](std::string& out, utf8proc_int32_t code, bool) { append_upper(out, code); });
}
std::string lower(std::string_view text) {
  return changed(text, [](std::string& out, utf8proc_int32_t code, bool) { append_lower(out, code); });
}
std::string title(std::string_view text) {
  return changed(text, [](std::string& out, utf8proc_int32_t code, bool is_after_letter) {
    is_after_letter ? append_lower(out, code) : append_upper(out, code);
  });
}
std::string title_words(std::string_view text) {
  std::string out, word;
  const auto end_word = [&] {
    out += capitalize(word);
    word.clear();
  };
  for (const std::string_view character : characters(text)) {
    const bool is_between = is_space(character) || std::string_view("-({[<").find(character) != std::string_view::npos;
    if (is_between) end_word();
    (is_between ? out : word) += character;
  }
  end_word();
  return out;
}
std::string capitalize(std::string_view text) {
  const std::vector<std::string_view> all = characters(text);
  return all.empty() ? "" : upper(all[0]) + lower(text.substr(all[0].size()));
}

}  // namespace fulgurite::chat
