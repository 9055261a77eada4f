#include <algorithm>
#include <optional>
#include <vector>

#include "tokenizer/component_json.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/unicode.h"

namespace fulgurite::tokenization {

namespace {

bool is_clean(char32_t c) {
  if (c >= 0x20 && c < 0x7F) return true;
  return c != 0 && c != 0xFFFD && !is_control(c);
}

// White space of one byte as spaces. Null if the text has no other white space than spaces.
std::optional<std::string> with_spaces(std::string_view text) {
  const auto is_other_space = [](char c) { return c >= 9 && c <= 13; };
  const auto first = std::find_if(text.begin(), text.end(), is_other_space);
  if (first == text.end()) return std::nullopt;
  std::string out(text);
  std::replace_if(out.begin() + (first - text.begin()), out.end(), is_other_space, ' ');
  return out;
}

// Removes control characters, and makes spaces of white space.
AlignedText clean(const AlignedText& text, Arena& arena) {
  const AlignedText kept = keep_if(text, &is_clean, arena);
  if (is_ascii(kept.text)) {
    std::optional<std::string> spaced = with_spaces(kept.text);
    return spaced ? arena.keep_like(std::move(*spaced), kept) : kept;
  }
  std::vector<Change> changes;
  bool is_changed = false;
  for (size_t at = 0; at < kept.text.size();) {
    const char32_t c = next(kept.text, at);
    changes.push_back({is_whitespace(c) ? U' ' : c, 0});
    is_changed = is_changed || changes.back().code != c;
  }
  return is_changed ? apply_changes(kept, changes, 0, arena) : kept;
}

AlignedText surround_chinese(const AlignedText& text, Arena& arena) {
  if (is_ascii(text.text)) return text;
  std::vector<Change> changes;
  bool is_changed = false;
  for (size_t at = 0; at < text.text.size();) {
    const char32_t c = next(text.text, at);
    if (!is_chinese(c)) {
      changes.push_back({c, 0});
      continue;
    }
    is_changed = true;
    changes.insert(changes.end(), {{U' ', 0}, {c, 1}, {U' ', 1}});
  }
  return is_changed ? apply_changes(text, changes, 0, arena) : text;
}

class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(const json::Node& component)
      : cleans_(bool_member(component, "clean_text", true)),
        surrounds_chinese_(bool_member(component, "handle_chinese_chars", true)),
        lowercases_(bool_member(component, "lowercase", true)),
        strips_accents_(bool_member(component, "strip_accents", lowercases_)) {}

  AlignedText normalize(const AlignedText& input, Arena& arena) const override {
    AlignedText text = input;
    if (cleans_) text = clean(text, arena);
    if (surrounds_chinese_) text = surround_chinese(text, arena);
    if (strips_accents_ && !is_ascii(text.text)) {
      const auto is_kept = [](char32_t c) { return !is_nonspacing_mark(c); };
      text = keep_if(normalize_unicode(text, false, false, arena), is_kept, arena);
    }
    return lowercases_ ? lowercase_text(text, arena) : text;
  }

 private:
  bool cleans_, surrounds_chinese_, lowercases_, strips_accents_;
};

}  // namespace

AlignedText lowercase_text(const AlignedText& text, Arena& arena) {
  if (is_ascii(text.text)) {
    std::string lower(text.text);
    for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    return arena.keep_like(std::move(lower), text);
  }
  std::vector<Change> changes;
  for (size_t at = 0; at < text.text.size();) {
    const char32_t c = next(text.text, at);
    if (c < 0x80) {
      changes.push_back({c >= 'A' && c <= 'Z' ? c + 32 : c, 0});
      continue;
    }
    const std::u32string lower = lowercase(c);
    for (size_t i = 0; i < lower.size(); ++i) changes.push_back({lower[i], i == 0 ? 0 : 1});
  }
  return apply_changes(text, changes, 0, arena);
}

AlignedText keep_if(const AlignedText& text, bool (*is_kept)(char32_t), Arena& arena) {
  bool are_all_kept = true;
  for (size_t at = 0; at < text.text.size() && are_all_kept;) are_all_kept = is_kept(next(text.text, at));
  if (are_all_kept) return text;
  std::vector<Change> changes;
  size_t removed_first = 0;
  for (size_t at = 0; at < text.text.size();) {
    const char32_t c = next(text.text, at);
    if (is_kept(c)) {
      changes.push_back({c, 0});
      continue;
    }
    if (changes.empty()) ++removed_first;
    else --changes.back().change;
  }
  return apply_changes(text, changes, removed_first, arena);
}

std::unique_ptr<const Normalizer> make_bert_normalizer(const json::Node& component) {
  return std::make_unique<BertNormalizer>(component);
}

}  // namespace fulgurite::tokenization
