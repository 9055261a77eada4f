#include <fulgurite/error.h>

#include "support/text/text.h"
#include "support/text/utf8.h"
#include "tokenizer/byte_characters.h"
#include "tokenizer/component_json.h"
#include "tokenizer/pattern_json.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"
#include "tokenizer/split.h"
#include "tokenizer/unicode.h"

namespace fulgurite::tokenization {

namespace {

using Words = std::vector<AlignedText>;
using PreTokenizerRef = std::unique_ptr<const PreTokenizer>;

// Words with a space before them, runs of digits, signs and spaces, and English contractions.
constexpr const char* gpt2_pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class Sequence : public PreTokenizer {
 public:
  Sequence(const json::Node& component, bool keeps_bytes) {
    const auto& items = list_member(component, "pretokenizers");
    for (size_t i = 0; i < items.size(); ++i)
      items_.push_back(make_pre_tokenizer(items[i], keeps_bytes && i + 1 == items.size()));
  }
  void split(const AlignedText& text, Arena& arena, Words& out) const override {
    Words words{text}, next_words;
    for (const PreTokenizerRef& item : items_) {
      next_words.clear();
      for (const AlignedText& word : words) item->split(word, arena, next_words);
      words.swap(next_words);
    }
    out.insert(out.end(), words.begin(), words.end());
  }

 private:
  std::vector<PreTokenizerRef> items_;
};

class ByteLevel : public PreTokenizer {
 public:
  ByteLevel(const json::Node& component, bool keeps_bytes)
      : adds_space_(bool_member(component, "add_prefix_space", true)),
        splits_(bool_member(component, "use_regex", true)),
        keeps_bytes_(keeps_bytes),
        pattern_(Pattern::regex(gpt2_pattern)) {}
  void split(const AlignedText& input, Arena& arena, Words& out) const override {
    AlignedText text = input;
    if (adds_space_ && !text.text.starts_with(' ')) text = prepend(text, " ", arena);
    const size_t begin = out.size();
    if (splits_) tokenization::split(text, pattern_, SplitBehavior::isolated, false, out);
    else if (!text.empty()) out.push_back(text);
    for (size_t i = begin; !keeps_bytes_ && i < out.size(); ++i) out[i] = to_byte_characters(out[i], arena);
  }

 private:
  bool adds_space_, splits_, keeps_bytes_;
  Pattern pattern_;
};

// Split and CharDelimiterSplit.
class PatternSplit : public PreTokenizer {
 public:
  PatternSplit(Pattern pattern, SplitBehavior behavior, bool is_inverted)
      : pattern_(std::move(pattern)), behavior_(behavior), is_inverted_(is_inverted) {}
  void split(const AlignedText& text, Arena&, Words& out) const override {
    tokenization::split(text, pattern_, behavior_, is_inverted_, out);
  }

 private:
  Pattern pattern_;
  SplitBehavior behavior_;
  bool is_inverted_;
};

// WhitespaceSplit, Punctuation and Digits.
class ClassSplit : public PreTokenizer {
 public:
  ClassSplit(bool (*is_match)(char32_t), SplitBehavior behavior) : is_match_(is_match), behavior_(behavior) {}
  void split(const AlignedText& text, Arena&, Words& out) const override {
    tokenization::split(text, is_match_, behavior_, out);
  }

 private:
  bool (*is_match_)(char32_t);
  SplitBehavior behavior_;
};

class BertPreTokenizer : public PreTokenizer {
 public:
  // Words between white space; each sign is a word of its own.
  void split(const AlignedText& text, Arena&, Words& out) const override {
    size_t word = 0;
    for (size_t at = 0; at < text.text.size();) {
      const size_t begin = at;
      const char32_t c = next(text.text, at);
      const bool is_sign = is_punctuation(c);
      if (!is_sign && !is_whitespace(c)) continue;
      if (begin > word) out.push_back(text.part(word, begin));
      if (is_sign) out.push_back(text.part(begin, at));
      word = at;
    }
    if (text.text.size() > word) out.push_back(text.part(word, text.text.size()));
  }
};

// Runs of word characters, and runs of what is neither that nor white space.
class Whitespace : public PreTokenizer {
 public:
  void split(const AlignedText& text, Arena&, Words& out) const override {
    Words runs;
    tokenization::split(text, &is_whitespace, SplitBehavior::removed, runs);
    for (const AlignedText& run : runs) tokenization::split(run, &is_word, SplitBehavior::contiguous, out);
  }
};

// Writes spaces as a visible character and splits before it.
class Metaspace : public PreTokenizer {
 public:
  explicit Metaspace(const json::Node& component)
      : replacement_(string_member(component, "replacement", "▁")), splits_(bool_member(component, "split", true)) {
    const bool adds_space = bool_member(component, "add_prefix_space", true);
    scheme_ = string_member(component, "prepend_scheme", adds_space ? "always" : "never");
    if (scheme_ != "always" && scheme_ != "first" && scheme_ != "never")
      throw UserError(text::cat("\"prepend_scheme\" must be always, first or never, it is ", printable(scheme_)));
  }
  void split(const AlignedText& input, Arena& arena, Words& out) const override {
    AlignedText text = replace_all(input, " ", replacement_, arena);
    const bool may_prepend = scheme_ == "always" || (scheme_ == "first" && text.origin(0, 1).begin == 0);
    if (may_prepend && !text.empty() && !text.text.starts_with(replacement_)) text = prepend(text, replacement_, arena);
    if (splits_) tokenization::split(text, pattern_, SplitBehavior::merged_with_next, false, out);
    else if (!text.empty()) out.push_back(text);
  }

 private:
  std::string replacement_, scheme_;
  Pattern pattern_ = Pattern::literal(replacement_);
  bool splits_;
};

class FixedLength : public PreTokenizer {
 public:
  explicit FixedLength(const json::Node& component) : length_(integer_member(component, "length", 5)) {
    if (length_ < 1) throw UserError("\"length\" must be positive");
  }
  void split(const AlignedText& text, Arena&, Words& out) const override {
    size_t begin = 0;
    int64_t count = 0;
    for (size_t at = 0; at < text.text.size();) {
      next(text.text, at);
      if (++count % length_ != 0 && at < text.text.size()) continue;
      out.push_back(text.part(begin, at));
      begin = at;
    }
  }

 private:
  int64_t length_;
};

PreTokenizerRef make_split(const json::Node& component) {
  const SplitBehavior behavior = split_behavior(string_member(component, "behavior", ""));
  return std::make_unique<PatternSplit>(read_pattern(component), behavior, bool_member(component, "invert", false));
}

}  // namespace

bool ends_with_byte_level(const json::Node& component) {
  const std::string type = type_of(component, "pre-tokenizer");
  if (type != "Sequence") return type == "ByteLevel";
  const auto& items = list_member(component, "pretokenizers");
  return !items.empty() && ends_with_byte_level(items.back());
}

PreTokenizerRef make_pre_tokenizer(const json::Node& component, bool keeps_bytes) {
  const std::string type = type_of(component, "pre-tokenizer");
  if (type == "Sequence") return std::make_unique<Sequence>(component, keeps_bytes);
  if (type == "ByteLevel") return std::make_unique<ByteLevel>(component, keeps_bytes);
  if (type == "Split") return make_split(component);
  if (type == "Metaspace") return std::make_unique<Metaspace>(component);
  if (type == "BertPreTokenizer") return std::make_unique<BertPreTokenizer>();
  if (type == "WhitespaceSplit") return std::make_unique<ClassSplit>(&is_whitespace, SplitBehavior::removed);
  if (type == "Whitespace") return std::make_unique<Whitespace>();
  if (type == "Punctuation")
    return std::make_unique<ClassSplit>(&is_punctuation,
                                        split_behavior(string_member(component, "behavior", "Isolated")));
  if (type == "Digits") {
    const bool is_individual = bool_member(component, "individual_digits", false);
    return std::make_unique<ClassSplit>(&is_numeric,
                                        is_individual ? SplitBehavior::isolated : SplitBehavior::contiguous);
  }
  if (type == "CharDelimiterSplit")
    return std::make_unique<PatternSplit>(Pattern::literal(string_member(component, "delimiter", " ")),
                                          SplitBehavior::removed, false);
  if (type == "FixedLength") return std::make_unique<FixedLength>(component);
  throw UserError(text::cat("there is no pre-tokenizer of type \"", printable(type), "\""));
}

}  // namespace fulgurite::tokenization
