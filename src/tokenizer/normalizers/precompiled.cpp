#include <algorithm>
#include <cstring>
#include <optional>
#include <utf8proc.h>
#include <vector>

#include <fulgurite/error.h>

#include "tokenizer/component_json.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/unicode.h"

namespace fulgurite::tokenization {

namespace {

std::string decode_base64(std::string_view text) {
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    uint32_t value = 0;
    if (c >= 'A' && c <= 'Z') value = static_cast<uint32_t>(c - 'A');
    else if (c >= 'a' && c <= 'z') value = static_cast<uint32_t>(c - 'a' + 26);
    else if (c >= '0' && c <= '9') value = static_cast<uint32_t>(c - '0' + 52);
    else if (c == '+') value = 62;
    else if (c == '/') value = 63;
    else if (c == '=') break;
    else throw UserError("\"precompiled_charsmap\" is not base64");
    bits = bits << 6 | value;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xFF);
  }
  return out;
}

// SentencePiece's table of replacements: a double-array trie from bytes to offsets into texts that end with 0.
class Replacements {
 public:
  explicit Replacements(const std::string& table) {
    uint32_t trie_bytes = 0;
    if (table.size() >= 4) std::memcpy(&trie_bytes, table.data(), 4);
    if (table.size() < 4 || trie_bytes % 4 != 0 || trie_bytes > table.size() - 4)
      throw UserError("\"precompiled_charsmap\" is truncated");
    units_.resize(trie_bytes / 4);
    std::memcpy(units_.data(), table.data() + 4, trie_bytes);
    texts_ = table.substr(4 + trie_bytes);
  }

  // The replacement of the shortest beginning that has one, as the reference does it; none if there is none.
  std::optional<std::string_view> find(std::string_view bytes) const {
    if (units_.empty()) return std::nullopt;
    size_t node = offset(units_[0]);
    for (const char c : bytes) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte == 0) return std::nullopt;
      node ^= byte;
      if (node >= units_.size() || label(units_[node]) != byte) return std::nullopt;
      const bool has_leaf = (units_[node] >> 8 & 1) != 0;
      node ^= offset(units_[node]);
      if (has_leaf) return node < units_.size() ? text_at(units_[node] & 0x7FFFFFFFU) : std::nullopt;
    }
    return std::nullopt;
  }

 private:
  static size_t offset(uint32_t unit) { return static_cast<size_t>(unit >> 10) << ((unit & (1U << 9)) >> 6); }
  static uint32_t label(uint32_t unit) { return unit & (1U << 31 | 0xFF); }
  std::optional<std::string_view> text_at(size_t begin) const {
    if (begin >= texts_.size()) return std::nullopt;
    const size_t end = texts_.find('\0', begin);
    return std::string_view(texts_).substr(begin, end == std::string::npos ? end : end - begin);
  }
  std::vector<uint32_t> units_;
  std::string texts_;
};

// Appends what replaces `count` code points.
void replace_part(std::vector<Change>& out, std::string_view replacement, int count) {
  const std::u32string codes = utf32(replacement);
  const int difference = static_cast<int>(codes.size()) - count;
  for (const char32_t c : codes) out.push_back({c, 0});
  if (difference < 0 && !out.empty()) out.back().change += difference;
  for (int i = 0; i < difference; ++i) out[out.size() - 1 - static_cast<size_t>(i)].change = 1;
}

class Precompiled : public Normalizer {
 public:
  explicit Precompiled(const json::Node& component)
      : replacements_(decode_base64(string_member(component, "precompiled_charsmap", ""))) {}

  AlignedText normalize(const AlignedText& text, Arena& arena) const override {
    std::vector<Change> changes;
    bool is_changed = false;
    for (size_t at = 0; at < text.text.size();) {
      const size_t begin = at;
      int count = 0;
      skip_grapheme(text.text, at, count);
      is_changed |= append_grapheme(text.text.substr(begin, at - begin), count, changes);
    }
    return is_changed ? apply_changes(text, changes, 0, arena) : text;
  }

 private:
  static void skip_grapheme(std::string_view text, size_t& at, int& count) {
    utf8proc_int32_t state = 0;
    auto last = static_cast<utf8proc_int32_t>(next(text, at));
    for (count = 1; at < text.size(); ++count) {
      size_t behind = at;
      const auto c = static_cast<utf8proc_int32_t>(next(text, behind));
      if (utf8proc_grapheme_break_stateful(last, c, &state)) return;
      at = behind;
      last = c;
    }
  }
  bool append_grapheme(std::string_view grapheme, int count, std::vector<Change>& changes) const {
    if (grapheme.size() < 6) {
      if (const auto found = replacements_.find(grapheme)) {
        replace_part(changes, *found, count);
        return true;
      }
    }
    bool is_changed = false;
    for (size_t at = 0; at < grapheme.size();) {
      const size_t begin = at;
      const char32_t c = next(grapheme, at);
      if (const auto found = replacements_.find(grapheme.substr(begin, at - begin))) {
        replace_part(changes, *found, 1);
        is_changed = true;
      } else {
        changes.push_back({c, 0});
      }
    }
    return is_changed;
  }
  Replacements replacements_;
};

}  // namespace

std::unique_ptr<const Normalizer> make_precompiled_normalizer(const json::Node& component) {
  return std::make_unique<Precompiled>(component);
}

}  // namespace fulgurite::tokenization
