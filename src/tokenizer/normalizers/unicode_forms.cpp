#include <algorithm>
#include <array>
#include <utf8proc.h>
#include <vector>

#include <fulgurite/error.h>

#include "support/text/text.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/later_unicode.h"
#include "tokenizer/unicode.h"

namespace fulgurite::tokenization {

namespace {

// Marks that the reference does not know are not sorted.
int combining_class(char32_t c) {
  return is_later_mark(c) ? 0 : utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class;
}

// Appends the decomposition of a code point: the first part replaces it, the others are inserted.
void decompose(char32_t c, bool is_compatible, std::vector<Change>& out) {
  if (has_later_decomposition(c)) return out.push_back({c, 0});
  std::array<utf8proc_int32_t, 32> parts{};
  int boundary = 0;
  const int options = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | (is_compatible ? UTF8PROC_COMPAT : 0);
  const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(), parts.size(),
                                             static_cast<utf8proc_option_t>(options), &boundary);
  if (count < 1 || count > static_cast<utf8proc_ssize_t>(parts.size())) {
    out.push_back({c, 0});
    return;
  }
  for (utf8proc_ssize_t i = 0; i < count; ++i) out.push_back({static_cast<char32_t>(parts[i]), i == 0 ? 0 : 1});
}

// Sorts runs of marks by their combining classes.
void order_marks(std::vector<Change>& changes) {
  for (size_t begin = 0; begin < changes.size();) {
    if (combining_class(changes[begin].code) == 0) {
      ++begin;
      continue;
    }
    size_t end = begin;
    while (end < changes.size() && combining_class(changes[end].code) != 0) ++end;
    std::stable_sort(
        changes.begin() + static_cast<std::ptrdiff_t>(begin), changes.begin() + static_cast<std::ptrdiff_t>(end),
        [](const Change& a, const Change& b) { return combining_class(a.code) < combining_class(b.code); });
    begin = end;
  }
}

// The composition of two code points; 0 if there is none.
char32_t compose(char32_t first, char32_t second) {
  std::array<utf8proc_int32_t, 2> pair{static_cast<utf8proc_int32_t>(first), static_cast<utf8proc_int32_t>(second)};
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  const bool is_one = utf8proc_normalize_utf32(pair.data(), 2, options) == 1;
  return is_one && !has_later_decomposition(static_cast<char32_t>(pair[0])) ? static_cast<char32_t>(pair[0]) : 0;
}

// Composes starters with the marks behind them that nothing of the same or a higher class separates.
std::vector<Change> compose_all(const std::vector<Change>& parts) {
  std::vector<Change> out;
  size_t starter = 0;
  bool has_starter = false;
  int last_class = -1;
  for (const Change& part : parts) {
    const int own_class = combining_class(part.code);
    const bool is_adjacent = has_starter && starter + 1 == out.size();
    if (has_starter && (is_adjacent || (last_class < own_class && own_class != 0))) {
      if (const char32_t joined = compose(out[starter].code, part.code); joined != 0) {
        out[starter].code = joined;
        out[starter].change += part.change - 1;
        continue;
      }
    }
    out.push_back(part);
    if (own_class == 0) {
      starter = out.size() - 1;
      has_starter = true;
      last_class = -1;
    } else {
      last_class = own_class;
    }
  }
  return out;
}

class UnicodeNormalizer : public Normalizer {
 public:
  UnicodeNormalizer(bool is_composed, bool is_compatible) : is_composed_(is_composed), is_compatible_(is_compatible) {}
  AlignedText normalize(const AlignedText& text, Arena& arena) const override {
    return normalize_unicode(text, is_composed_, is_compatible_, arena);
  }

 private:
  bool is_composed_, is_compatible_;
};

}  // namespace

AlignedText normalize_unicode(const AlignedText& text, bool is_composed, bool is_compatible, Arena& arena) {
  if (is_ascii(text.text)) return text;
  std::vector<Change> changes;
  changes.reserve(text.text.size());
  for (size_t at = 0; at < text.text.size();) decompose(next(text.text, at), is_compatible, changes);
  order_marks(changes);
  if (is_composed) changes = compose_all(changes);
  return apply_changes(text, changes, 0, arena);
}

std::unique_ptr<const Normalizer> make_unicode_normalizer(std::string_view form) {
  return std::make_unique<UnicodeNormalizer>(form.back() == 'C', form.find('K') != std::string_view::npos);
}

}  // namespace fulgurite::tokenization
