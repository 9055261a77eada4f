#include <array>
#include <vector>

#include <fulgurite/error.h>

#include "support/text/text.h"
#include "support/text/utf8.h"
#include "tokenizer/byte_characters.h"
#include "tokenizer/component_json.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/pattern_json.h"
#include "tokenizer/unicode.h"

namespace fulgurite::tokenization {

namespace {

using NormalizerRef = std::unique_ptr<const Normalizer>;

class Sequence : public Normalizer {
 public:
  explicit Sequence(const json::Node& component) {
    for (const json::Node& item : list_member(component, "normalizers")) items_.push_back(make_normalizer(item));
  }
  AlignedText normalize(const AlignedText& input, Arena& arena) const override {
    AlignedText text = input;
    for (const NormalizerRef& item : items_) text = item->normalize(text, arena);
    return text;
  }

 private:
  std::vector<NormalizerRef> items_;
};

class Lowercase : public Normalizer {
 public:
  AlignedText normalize(const AlignedText& text, Arena& arena) const override { return lowercase_text(text, arena); }
};

class StripAccents : public Normalizer {
 public:
  AlignedText normalize(const AlignedText& text, Arena& arena) const override {
    return keep_if(
        text, [](char32_t c) { return !is_mark(c); }, arena);
  }
};

class Strip : public Normalizer {
 public:
  explicit Strip(const json::Node& component)
      : left_(bool_member(component, "strip_left", true)), right_(bool_member(component, "strip_right", true)) {}
  AlignedText normalize(const AlignedText& text, Arena&) const override {
    size_t begin = 0, end = 0;
    bool has_begun = !left_;
    for (size_t at = 0; at < text.text.size();) {
      const size_t start = at;
      const bool is_space = is_whitespace(next(text.text, at));
      if (!has_begun && !is_space) {
        begin = start;
        has_begun = true;
      }
      if (!is_space) end = at;
    }
    if (!has_begun) begin = text.text.size();
    if (!right_) end = text.text.size();
    return text.part(begin, std::max(begin, end));
  }

 private:
  bool left_, right_;
};

class Replace : public Normalizer {
 public:
  explicit Replace(const json::Node& component)
      : pattern_(read_pattern(component)), content_(string_member(component, "content", "")) {}
  // The content in place of a match has the origin of its last code point.
  AlignedText normalize(const AlignedText& text, Arena& arena) const override {
    if (const std::string* literal = pattern_.literal()) return replace_all(text, *literal, content_, arena);
    std::string out;
    std::vector<Range> origins;
    size_t done = 0;
    const auto copy_until = [&](size_t end) {
      for (; done < end; ++done) {
        out += text.text[done];
        origins.push_back(text.origin(done, done + 1));
      }
    };
    bool is_changed = false;
    pattern_.for_each_match(text.text, [&](size_t begin, size_t end) {
      is_changed = true;
      copy_until(begin);
      size_t last = end - 1;
      while (last > begin && (static_cast<unsigned char>(text.text[last]) & 0xC0) == 0x80) --last;
      out += content_;
      origins.resize(out.size(), text.origin(last, end));
      done = end;
    });
    if (!is_changed) return text;
    copy_until(text.text.size());
    return arena.keep(std::move(out), std::move(origins), text.base);
  }

 private:
  Pattern pattern_;
  std::string content_;
};

class Prepend : public Normalizer {
 public:
  explicit Prepend(const json::Node& component) : content_(string_member(component, "prepend", "")) {}
  AlignedText normalize(const AlignedText& text, Arena& arena) const override {
    return text.empty() ? text : prepend(text, content_, arena);
  }

 private:
  std::string content_;
};

// Removes control characters and makes spaces of unusual white space, as SentencePiece's rule "nmt".
class Nmt : public Normalizer {
 public:
  AlignedText normalize(const AlignedText& text, Arena& arena) const override {
    const AlignedText kept = keep_if(text, &is_kept, arena);
    std::vector<Change> changes;
    for (size_t at = 0; at < kept.text.size();) {
      const char32_t c = next(kept.text, at);
      changes.push_back({is_space(c) ? U' ' : c, 0});
    }
    return apply_changes(kept, changes, 0, arena);
  }

 private:
  static bool is_kept(char32_t c) {
    return !((c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F);
  }
  static bool is_space(char32_t c) {
    return c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 || (c >= 0x200B && c <= 0x200F) || c == 0x2028 ||
           c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
  }
};

class ByteLevel : public Normalizer {
 public:
  AlignedText normalize(const AlignedText& text, Arena& arena) const override {
    return to_byte_characters(text, arena);
  }
};

}  // namespace

NormalizerRef make_normalizer(const json::Node& component) {
  const std::string type = type_of(component, "normalizer");
  if (type == "Sequence") return std::make_unique<Sequence>(component);
  if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD") return make_unicode_normalizer(type);
  if (type == "BertNormalizer") return make_bert_normalizer(component);
  if (type == "Lowercase") return std::make_unique<Lowercase>();
  if (type == "StripAccents") return std::make_unique<StripAccents>();
  if (type == "Strip") return std::make_unique<Strip>(component);
  if (type == "Replace") return std::make_unique<Replace>(component);
  if (type == "Prepend") return std::make_unique<Prepend>(component);
  if (type == "Precompiled") return make_precompiled_normalizer(component);
  if (type == "Nmt") return std::make_unique<Nmt>();
  if (type == "ByteLevel") return std::make_unique<ByteLevel>();
  throw UserError(text::cat("there is no normalizer of type \"", printable(type), "\""));
}

}  // namespace fulgurite::tokenization
