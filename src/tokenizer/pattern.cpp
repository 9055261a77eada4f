#include "tokenizer/pattern.h"

#include <array>
#include <cstdint>

#include <fulgurite/error.h>

#include "support/text/text.h"
#include "support/text/utf8.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace fulgurite::tokenization {

namespace {

constexpr uint32_t match_limit = 10'000'000;
constexpr std::string_view space_members =
    "\\t-\\r \\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}"
    "\\x{202f}\\x{205f}\\x{3000}";
constexpr std::string_view word_members = "\\p{L}\\p{M}\\p{N}\\p{Pc}";
// Scripts: PCRE2's \p{Han} also has characters that several scripts share.
constexpr std::array<std::string_view, 14> scripts{"Han",   "Hiragana",   "Katakana", "Hangul", "Latin",
                                                   "Greek", "Cyrillic",   "Arabic",   "Hebrew", "Thai",
                                                   "Lao",   "Devanagari", "Khmer",    "Tibetan"};

std::string error_text(int code) {
  std::array<PCRE2_UCHAR, 200> buffer{};
  pcre2_get_error_message(code, buffer.data(), buffer.size());
  return reinterpret_cast<const char*>(buffer.data());
}

// Appends the translation of an escape at `at`, and moves past it.
void translate_escape(std::string& out, std::string_view from, size_t& at, bool is_in_class) {
  const char kind = at + 1 < from.size() ? from[at + 1] : '\0';
  const auto members = [&](std::string_view text, bool is_negated) {
    out += is_in_class ? std::string(text) : text::cat(is_negated ? "[^" : "[", text, "]");
    at += 2;
  };
  if (kind == 's') return members(space_members, false);
  if (kind == 'w') return members(word_members, false);
  if (kind == 'S' && !is_in_class) return members(space_members, true);
  if (kind == 'W' && !is_in_class) return members(word_members, true);
  const size_t close = from.find('}', at);
  if ((kind == 'p' || kind == 'P') && close != std::string_view::npos && at + 2 < from.size() && from[at + 2] == '{') {
    std::string_view name = from.substr(at + 3, close - at - 3);
    const bool is_negated = !name.empty() && name.front() == '^';
    if (is_negated) name.remove_prefix(1);
    bool is_script = false;
    for (const std::string_view script : scripts) is_script = is_script || name == script;
    out += text::cat("\\", kind, "{", is_negated ? "^" : "", is_script ? "sc:" : "", name, "}");
    at = close + 1;
    return;
  }
  out += from.substr(at, 2);
  at += 2;
}

struct MatchData {
  pcre2_match_data* data;
  explicit MatchData(const pcre2_code* code) : data(pcre2_match_data_create_from_pattern(code, nullptr)) {}
  ~MatchData() { pcre2_match_data_free(data); }
  MatchData(const MatchData&) = delete;
  MatchData& operator=(const MatchData&) = delete;
};

}  // namespace

std::string pcre2_syntax(std::string_view expression) {
  std::string out;
  bool is_in_class = false;
  for (size_t at = 0; at < expression.size();) {
    const char c = expression[at];
    if (c == '\\') {
      translate_escape(out, expression, at, is_in_class);
      continue;
    }
    if (c == '[' && !is_in_class) {
      is_in_class = true;
      // A bracket that is first in a class is a member of it.
      if (at + 1 < expression.size() && expression[at + 1] == ']') out += expression[at++];
    } else if (c == ']') {
      is_in_class = false;
    }
    out += expression[at++];
  }
  return out;
}

struct Pattern::Regex {
  std::string expression;
  pcre2_code* code = nullptr;
  pcre2_match_context* context = nullptr;
  bool is_machine_code = false;
  Regex() = default;
  Regex(const Regex&) = delete;
  Regex& operator=(const Regex&) = delete;
  ~Regex() {
    pcre2_match_context_free(context);
    pcre2_code_free(code);
  }
};

Pattern Pattern::literal(std::string text) {
  Pattern pattern;
  pattern.literal_ = std::move(text);
  return pattern;
}

Pattern Pattern::regex(const std::string& expression) {
  const std::string translated = pcre2_syntax(expression);
  auto regex = std::make_shared<Regex>();
  int error = 0;
  PCRE2_SIZE offset = 0;
  regex->expression = expression;
  regex->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                              PCRE2_UTF | PCRE2_UCP | PCRE2_NO_UTF_CHECK, &error, &offset, nullptr);
  if (regex->code == nullptr)
    throw UserError(text::cat("the regular expression ", printable(expression),
                              " is not valid or not supported: ", error_text(error), " at position ", offset));
  regex->is_machine_code = pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE) == 0;
  regex->context = pcre2_match_context_create(nullptr);
  pcre2_set_match_limit(regex->context, match_limit);
  Pattern pattern;
  pattern.regex_ = std::move(regex);
  return pattern;
}

void Pattern::for_each_match(std::string_view text, const std::function<void(size_t begin, size_t end)>& visit) const {
  if (regex_ == nullptr) {
    if (literal_.empty()) return;
    for (size_t at = 0; (at = text.find(literal_, at)) != std::string_view::npos; at += literal_.size())
      visit(at, at + literal_.size());
    return;
  }
  const MatchData match(regex_->code);
  const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(match.data);
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  for (size_t at = 0; at <= text.size();) {
    const auto search = regex_->is_machine_code ? pcre2_jit_match : pcre2_match;
    const int found = search(regex_->code, subject, text.size(), at, PCRE2_NO_UTF_CHECK, match.data, regex_->context);
    if (found == PCRE2_ERROR_NOMATCH) return;
    if (found < 0)
      throw UserError(text::cat("the regular expression ", printable(regex_->expression),
                                " cannot be matched with a text of ", text.size(), " bytes: ", error_text(found)));
    const size_t begin = bounds[0], end = bounds[1];
    if (end > begin) visit(begin, end);
    at = end;
    if (end == begin) next_code_point(text, at), at = at == end ? end + 1 : at;
  }
}

}  // namespace fulgurite::tokenization
