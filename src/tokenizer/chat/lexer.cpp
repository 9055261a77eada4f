#include "tokenizer/chat/lexer.h"

#include <algorithm>
#include <array>

#include <fulgurite/error.h>

#include "support/text/text.h"
#include "support/text/utf8.h"

namespace fulgurite::chat {

namespace {

using Kind = Token::Kind;

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

// Line ends become "\n", and one at the end of the template is removed.
std::string with_plain_line_ends(std::string_view source) {
  std::string out;
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
      continue;
    }
    out += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

constexpr std::array<std::string_view, 23> signs = {"**", "//", "==", "!=", ">=", "<=", "(", ")", "[", "]", "{", "}",
                                                    "+",  "-",  "*",  "/",  "%",  "~",  "|", ".", ",", ":", "="};

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(with_plain_line_ends(source)) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) read_text_and_tag();
    add(Kind::end, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(std::string_view what) const { throw UserError(text::cat("line ", line_, ": ", what)); }
  void add(Kind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }
  bool starts_with(std::string_view text) const { return std::string_view(source_).substr(at_).starts_with(text); }
  void move_to(size_t to) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
    begins_line_ = to == 0 || source_[to - 1] == '\n';
    at_ = to;
  }
  void skip_spaces() {
    size_t to = at_;
    while (to < source_.size() && is_space(source_[to])) ++to;
    move_to(to);
  }

  size_t find_tag(size_t from) const {
    for (size_t at = source_.find('{', from); at != std::string::npos; at = source_.find('{', at + 1))
      if (at + 1 < source_.size() && std::string_view("{%#").find(source_[at + 1]) != std::string_view::npos) return at;
    return source_.size();
  }

  // The text before a tag, without the spaces that the tag removes.
  std::string text_before(size_t tag) const {
    std::string text = source_.substr(at_, tag - at_);
    if (tag == source_.size()) return text;
    const char kind = source_[tag + 1], sign = tag + 2 < source_.size() ? source_[tag + 2] : ' ';
    if (sign == '-') {
      while (!text.empty() && is_space(text.back())) text.pop_back();
    } else if (sign != '+' && kind != '{') {
      const size_t line_end = text.rfind('\n'), begin = line_end == std::string::npos ? 0 : line_end + 1;
      const bool is_whole_line = begin > 0 || begins_line_;
      if (is_whole_line && std::all_of(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(), is_space))
        text.resize(begin);
    }
    return text;
  }

  void read_text_and_tag() {
    const size_t tag = find_tag(at_);
    if (std::string text = text_before(tag); !text.empty()) add(Kind::data, std::move(text));
    move_to(tag);
    if (tag == source_.size()) return;
    const char kind = source_[tag + 1];
    const bool has_sign = tag + 2 < source_.size() && (source_[tag + 2] == '-' || source_[tag + 2] == '+');
    if (kind == '#') return skip_comment();
    add(kind == '{' ? Kind::begin_output : Kind::begin_block, "");
    move_to(tag + 2 + has_sign);
    if (kind == '%' && read_raw()) return;
    read_expression(kind == '{' ? "}}" : "%}", kind == '{' ? Kind::end_output : Kind::end_block);
  }

  // Moves behind a closing tag: "-" removes all spaces, else the line end behind blocks and comments is removed.
  void move_behind(size_t end, bool is_output) {
    const char sign = end > 0 ? source_[end - 1] : ' ';
    move_to(end + 2);
    if (sign == '-') skip_spaces();
    else if (!is_output && sign != '+' && at_ < source_.size() && source_[at_] == '\n') move_to(at_ + 1);
  }

  void skip_comment() {
    const size_t end = source_.find("#}", at_ + 2);
    if (end == std::string::npos) fail("a comment is not closed");
    move_behind(end, false);
  }

  // {% raw %}: the text up to {% endraw %} is not a template.
  bool read_raw() {
    size_t at = at_;
    const auto skip = [&](std::string_view word) {
      while (at < source_.size() && is_space(source_[at])) ++at;
      if (!std::string_view(source_).substr(at).starts_with(word)) return false;
      at += word.size();
      return true;
    };
    if (!skip("raw")) return false;
    if (at < source_.size() && source_[at] == '-') ++at;
    if (!skip("%}")) return false;
    tokens_.pop_back();
    move_behind(at - 2, false);
    for (size_t tag = find_tag(at_); tag < source_.size(); tag = find_tag(tag + 1)) {
      at = tag + 2;
      if (source_[tag + 1] != '%') continue;
      if (at < source_.size() && (source_[at] == '-' || source_[at] == '+')) ++at;
      if (!skip("endraw")) continue;
      if (at < source_.size() && source_[at] == '-') ++at;
      if (!skip("%}")) continue;
      if (std::string text = text_before(tag); !text.empty()) add(Kind::data, std::move(text));
      move_to(tag);
      move_behind(at - 2, false);
      return true;
    }
    fail("raw is not closed by endraw");
  }

  void read_expression(std::string_view end, Kind end_kind) {
    std::string open;  // brackets
    for (;;) {
      skip_spaces();
      if (at_ == source_.size()) fail(text::cat("a tag is not closed by ", end));
      const bool has_sign = (source_[at_] == '-' || source_[at_] == '+') && source_.compare(at_ + 1, 2, end) == 0;
      if (open.empty() && (has_sign || starts_with(end))) {
        add(end_kind, "");
        return move_behind(at_ + has_sign, end_kind == Kind::end_output);
      }
      read_token(open);
    }
  }

  void read_token(std::string& open) {
    const char c = source_[at_];
    if (c == '"' || c == '\'') return read_string(c);
    if (is_digit(c)) return read_number();
    if (is_name(c)) {
      size_t to = at_;
      while (to < source_.size() && (is_name(source_[to]) || is_digit(source_[to]))) ++to;
      add(Kind::name, source_.substr(at_, to - at_));
      return move_to(to);
    }
    const auto sign = std::find_if(signs.begin(), signs.end(), [&](std::string_view s) { return starts_with(s); });
    if (sign == signs.end()) {
      if (c != '<' && c != '>') fail(text::cat("unexpected '", printable(std::string(1, c)), "'"));
      add(Kind::sign, std::string(1, c));
      return move_to(at_ + 1);
    }
    if (*sign == "(" || *sign == "[" || *sign == "{") open += *sign;
    if (*sign == ")" || *sign == "]" || *sign == "}") {
      const char opening = *sign == ")" ? '(' : *sign == "]" ? '[' : '{';
      if (open.empty() || open.back() != opening) fail(text::cat("unexpected '", *sign, "'"));
      open.pop_back();
    }
    add(Kind::sign, std::string(*sign));
    move_to(at_ + sign->size());
  }

  void read_number() {
    size_t to = at_;
    bool is_floating = false;
    const auto digits = [&] {
      while (to < source_.size() && (is_digit(source_[to]) || source_[to] == '_')) ++to;
    };
    digits();
    if (to + 1 < source_.size() && source_[to] == '.' && is_digit(source_[to + 1])) {
      is_floating = true;
      ++to;
      digits();
    }
    if (to + 1 < source_.size() && (source_[to] == 'e' || source_[to] == 'E')) {
      const size_t exponent = to + 1 + (source_[to + 1] == '-' || source_[to + 1] == '+');
      if (exponent < source_.size() && is_digit(source_[exponent])) {
        is_floating = true;
        to = exponent;
        digits();
      }
    }
    std::string number = source_.substr(at_, to - at_);
    number.erase(std::remove(number.begin(), number.end(), '_'), number.end());
    add(is_floating ? Kind::floating : Kind::integer, number);
    move_to(to);
  }

  void read_string(char quote) {
    std::string out;
    size_t to = at_ + 1;
    for (; to < source_.size() && source_[to] != quote; ++to) {
      if (source_[to] != '\\' || to + 1 == source_.size()) out += source_[to];
      else to = read_escape(to, out);
    }
    if (to >= source_.size()) fail("a text is not closed");
    add(Kind::string, std::move(out));
    move_to(to + 1);
  }

  // Returns the position of the escape's last character.
  size_t read_escape(size_t backslash, std::string& out) const {
    constexpr std::string_view names = "ntrbfav0\\'\"", values = "\n\t\r\b\f\a\v\0\\'\"";
    const char c = source_[backslash + 1];
    if (c == '\n') return backslash + 1;
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits > 0) {
      uint32_t code = 0;
      for (size_t i = 0; i < digits; ++i) {
        const size_t at = backslash + 2 + i;
        const size_t digit = at < source_.size()
                                 ? std::string_view("0123456789abcdef").find(static_cast<char>(source_[at] | 32))
                                 : std::string_view::npos;
        if (digit == std::string_view::npos) fail("an escape in a text has too few digits");
        code = code * 16 + static_cast<uint32_t>(digit);
      }
      append_utf8(out, code);
      return backslash + 1 + digits;
    }
    const size_t known = std::string_view(names).find(c);
    if (known == std::string_view::npos) out += '\\', out += c;
    else out += values[known];
    return backslash + 1;
  }

  std::string source_;
  size_t at_ = 0;
  int line_ = 1;
  bool begins_line_ = true;  // the last tag ended with a line
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> divide(std::string_view source) { return Lexer(source).run(); }

}  // namespace fulgurite::chat
