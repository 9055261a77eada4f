#include "tokenizer/chat/expression_parser.h"

#include <algorithm>
#include <charconv>

#include <fulgurite/error.h>

#include "support/text/text.h"
#include "support/text/utf8.h"

namespace fulgurite::chat {

namespace {

using Kind = Expression::Kind;
using TokenKind = Token::Kind;

constexpr int deepest = 64;   // nested expressions
constexpr int highest = 500;  // trees

std::unique_ptr<Expression> make(Kind kind, int line, std::string text = "") {
  auto out = std::make_unique<Expression>();
  out->kind = kind;
  out->line = line;
  out->text = std::move(text);
  return out;
}

// Chains, "a + b + c", make high trees too.
void add(Expression& to, ExpressionRef part) {
  if (part && part->height >= highest) throw UserError(text::cat("line ", to.line, ": an expression is too long"));
  if (part) to.height = std::max(to.height, part->height + 1);
  to.parts.push_back(std::move(part));
}

template <class... Parts>
ExpressionRef make(Kind kind, int line, std::string text, ExpressionRef first, Parts... rest) {
  auto out = make(kind, line, std::move(text));
  add(*out, std::move(first));
  (add(*out, std::move(rest)), ...);
  return out;
}

ExpressionRef make_constant(Value value, int line) {
  auto out = make(Kind::constant, line);
  out->value = std::move(value);
  return out;
}

}  // namespace

void ExpressionParser::fail(std::string_view what) const {
  throw UserError(text::cat("line ", current().line, ": ", what));
}
void ExpressionParser::expect_sign(std::string_view text) {
  if (!skip_sign(text)) fail(text::cat("'", text, "' is missing before '", printable(current().text), "'"));
}
void ExpressionParser::expect(Token::Kind kind, std::string_view what) {
  if (current().kind != kind) fail(text::cat(what, " is missing before '", printable(current().text), "'"));
  take();
}
std::string ExpressionParser::need_name(std::string_view what) {
  if (current().kind != TokenKind::name) fail(text::cat(what, " is missing"));
  return take().text;
}

// Filters and tests may have names with dots.
std::string ExpressionParser::dotted_name(std::string_view what) {
  std::string name = need_name(what);
  while (skip_sign(".")) name += "." + need_name(what);
  return name;
}

ExpressionRef ExpressionParser::tuple() {
  const int line = current().line;
  ExpressionRef first = expression();
  if (!is_sign(",")) return first;
  auto out = make(Kind::tuple, line);
  add(*out, std::move(first));
  while (skip_sign(",")) {
    if (current().kind == TokenKind::end_output || current().kind == TokenKind::end_block || is_sign(")")) break;
    add(*out, expression());
  }
  return out;
}

ExpressionRef ExpressionParser::expression() {
  if (++depth_ > deepest) fail("expressions are nested too deeply");
  const int line = current().line;
  ExpressionRef out = disjunction();
  while (skip_name("if")) {
    ExpressionRef condition = disjunction();
    ExpressionRef otherwise = skip_name("else") ? expression() : nullptr;
    out = make(Kind::conditional, line, "", std::move(condition), std::move(out), std::move(otherwise));
  }
  --depth_;
  return out;
}

ExpressionRef ExpressionParser::disjunction() {
  ExpressionRef out = conjunction();
  while (is_name("or")) {
    const int line = take().line;
    out = make(Kind::binary, line, "or", std::move(out), conjunction());
  }
  return out;
}

ExpressionRef ExpressionParser::conjunction() {
  ExpressionRef out = negation();
  while (is_name("and")) {
    const int line = take().line;
    out = make(Kind::binary, line, "and", std::move(out), negation());
  }
  return out;
}

ExpressionRef ExpressionParser::negation() {
  if (!is_name("not")) return comparison();
  if (++depth_ > deepest) fail("expressions are nested too deeply");
  const int line = take().line;
  ExpressionRef out = make(Kind::unary, line, "not", negation());
  --depth_;
  return out;
}

// A chain, a < b < c, is the conjunction of its comparisons; b is evaluated twice.
ExpressionRef ExpressionParser::comparison() {
  ExpressionRef out = sum();
  ExpressionRef chain;
  for (;;) {
    std::string sign;
    for (const char* known : {"==", "!=", "<=", ">=", "<", ">"})
      if (sign.empty() && is_sign(known)) sign = known;
    if (sign.empty() && is_name("in")) sign = "in";
    const Token& next = following();
    if (sign.empty() && is_name("not") && next.kind == TokenKind::name && next.text == "in") {
      take();
      sign = "not in";
    }
    if (sign.empty()) return chain ? std::move(chain) : std::move(out);
    if (chain) fail("chains of comparisons are not supported; use 'and'");
    const int line = take().line;
    chain = make(Kind::binary, line, sign, std::move(out), sum());
  }
}

ExpressionRef ExpressionParser::sum() {
  ExpressionRef out = concatenation();
  while (is_sign("+") || is_sign("-")) {
    const Token sign = take();
    out = make(Kind::binary, sign.line, sign.text, std::move(out), concatenation());
  }
  return out;
}

ExpressionRef ExpressionParser::concatenation() {
  ExpressionRef out = product();
  while (is_sign("~")) {
    const int line = take().line;
    out = make(Kind::binary, line, "~", std::move(out), product());
  }
  return out;
}

ExpressionRef ExpressionParser::product() {
  ExpressionRef out = power();
  while (is_sign("*") || is_sign("/") || is_sign("//") || is_sign("%")) {
    const Token sign = take();
    out = make(Kind::binary, sign.line, sign.text, std::move(out), power());
  }
  return out;
}

ExpressionRef ExpressionParser::power() {
  ExpressionRef out = unary();
  while (is_sign("**")) {
    const int line = take().line;
    out = make(Kind::binary, line, "**", std::move(out), unary());
  }
  return out;
}

ExpressionRef ExpressionParser::unary(bool has_filters) {
  if (++depth_ > deepest) fail("expressions are nested too deeply");
  ExpressionRef out;
  if (is_sign("-") || is_sign("+")) {
    const Token sign = take();
    out = make(Kind::unary, sign.line, sign.text, unary(false));
  } else {
    out = primary();
  }
  out = postfix(std::move(out));
  --depth_;
  return has_filters ? filters_and_tests(std::move(out)) : std::move(out);
}

ExpressionRef ExpressionParser::literal() {
  const Token token = take();
  if (token.kind == TokenKind::string) {
    std::string text = token.text;
    while (current().kind == TokenKind::string) text += take().text;
    return make_constant(text, token.line);
  }
  const char *begin = token.text.data(), *end = begin + token.text.size();
  double floating = 0;
  int64_t integer = 0;
  if (token.kind == TokenKind::floating) {
    std::from_chars(begin, end, floating);
    return make_constant(floating, token.line);
  }
  if (std::from_chars(begin, end, integer).ec != std::errc())
    fail(text::cat("the number ", token.text, " is too large"));
  return make_constant(integer, token.line);
}

ExpressionRef ExpressionParser::primary() {
  const int line = current().line;
  if (current().kind == TokenKind::name) {
    const std::string name = take().text;
    if (name == "true" || name == "True") return make_constant(true, line);
    if (name == "false" || name == "False") return make_constant(false, line);
    if (name == "none" || name == "None") return make_constant(None(), line);
    return make(Kind::name, line, name);
  }
  if (current().kind == TokenKind::string || current().kind == TokenKind::integer ||
      current().kind == TokenKind::floating)
    return literal();
  if (skip_sign("[")) return list();
  if (skip_sign("{")) return mapping();
  if (!skip_sign("(")) fail(text::cat("an expression is missing before '", printable(current().text), "'"));
  if (skip_sign(")")) return make(Kind::tuple, line);
  ExpressionRef out = tuple();
  expect_sign(")");
  return out;
}

ExpressionRef ExpressionParser::list() {
  auto out = make(Kind::list, current().line);
  while (!is_sign("]")) {
    add(*out, expression());
    if (!skip_sign(",")) break;
  }
  expect_sign("]");
  return out;
}

ExpressionRef ExpressionParser::mapping() {
  auto out = make(Kind::mapping, current().line);
  while (!is_sign("}")) {
    add(*out, expression());
    expect_sign(":");
    add(*out, expression());
    if (!skip_sign(",")) break;
  }
  expect_sign("}");
  return out;
}

ExpressionRef ExpressionParser::postfix(ExpressionRef value) {
  for (;;) {
    const int line = current().line;
    if (skip_sign(".")) {
      if (current().kind == TokenKind::integer) {
        value = make(Kind::item, line, "", std::move(value), literal());
      } else {
        std::string name = need_name("the name of an attribute");
        value = make(Kind::attribute, line, std::move(name), std::move(value));
      }
    } else if (skip_sign("[")) {
      value = subscript(std::move(value));
    } else if (is_sign("(")) {
      auto call = make(Kind::call, line);
      add(*call, std::move(value));
      call->arguments = arguments();
      value = std::move(call);
    } else {
      return value;
    }
  }
}

ExpressionRef ExpressionParser::subscript(ExpressionRef value) {
  const int line = current().line;
  ExpressionRef parts[3];
  int colons = 0;
  while (!is_sign("]")) {
    if (skip_sign(":")) {
      if (++colons > 2) fail("a slice has too many colons");
    } else {
      if (parts[colons]) break;
      parts[colons] = expression();
    }
  }
  expect_sign("]");
  if (colons > 0)
    return make(Kind::slice, line, "", std::move(value), std::move(parts[0]), std::move(parts[1]), std::move(parts[2]));
  if (!parts[0]) fail("an index is missing");
  return make(Kind::item, line, "", std::move(value), std::move(parts[0]));
}

CallArguments ExpressionParser::arguments() {
  CallArguments out;
  expect_sign("(");
  while (!is_sign(")")) {
    if (is_sign("*") || is_sign("**")) fail("arguments with * are not supported");
    const Token& next = following();
    if (current().kind == TokenKind::name && next.kind == TokenKind::sign && next.text == "=") {
      std::string name = take().text;
      take();
      out.named.emplace_back(std::move(name), expression());
    } else {
      if (!out.named.empty()) fail("an argument without a name follows one with a name");
      out.positional.push_back(expression());
    }
    if (!skip_sign(",")) break;
  }
  expect_sign(")");
  return out;
}

ExpressionRef ExpressionParser::filters_and_tests(ExpressionRef value) {
  for (;;) {
    if (is_sign("|")) {
      auto filter = make(Kind::filter, take().line);
      filter->text = dotted_name("the name of a filter");
      add(*filter, std::move(value));
      if (is_sign("(")) filter->arguments = arguments();
      value = std::move(filter);
    } else if (is_name("is")) {
      take();
      value = test(std::move(value));
    } else if (is_sign("(")) {
      value = postfix(std::move(value));
    } else {
      return value;
    }
  }
}

// "is not" negates. An argument may stand without parentheses: "is divisibleby 3".
ExpressionRef ExpressionParser::test(ExpressionRef value) {
  const int line = current().line;
  const bool is_negated = skip_name("not");
  auto out = make(Kind::test, line);
  out->text = dotted_name("the name of a test");
  add(*out, std::move(value));
  const TokenKind kind = current().kind;
  const bool is_word = kind == TokenKind::name && !is_name("else") && !is_name("or") && !is_name("and") &&
                       !is_name("if") && !is_name("is") && !is_name("in") && !is_name("not");
  if (is_sign("(")) out->arguments = arguments();
  else if (is_word || kind == TokenKind::string || kind == TokenKind::integer || kind == TokenKind::floating ||
           is_sign("["))
    out->arguments.positional.push_back(postfix(primary()));
  if (!is_negated) return out;
  return make(Kind::unary, line, "not", std::move(out));
}

ExpressionRef ExpressionParser::filters() {
  ExpressionRef value;
  do {
    auto filter = make(Kind::filter, current().line);
    filter->text = dotted_name("the name of a filter");
    add(*filter, std::move(value));
    if (is_sign("(")) filter->arguments = arguments();
    value = std::move(filter);
  } while (skip_sign("|"));
  return value;
}

}  // namespace fulgurite::chat
