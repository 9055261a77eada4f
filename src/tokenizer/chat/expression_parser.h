#pragma once
#include <string_view>
#include <vector>

#include "tokenizer/chat/lexer.h"
#include "tokenizer/chat/syntax.h"

namespace fulgurite::chat {

/// Reads expressions from tokens.
class ExpressionParser {
 public:
  explicit ExpressionParser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  /// An expression; a list of them without parentheses is a tuple.
  ExpressionRef tuple();
  ExpressionRef expression();
  /// An expression without "if", as the values of a loop.
  ExpressionRef disjunction();
  /// A name with filters and their arguments; its first part is null.
  ExpressionRef filters();
  CallArguments arguments();

  const Token& current() const { return tokens_[at_]; }
  const Token& take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool is_sign(std::string_view text) const { return is(Token::Kind::sign, text); }
  bool is_name(std::string_view text) const { return is(Token::Kind::name, text); }
  bool skip_sign(std::string_view text) { return is_sign(text) && (take(), true); }
  bool skip_name(std::string_view text) { return is_name(text) && (take(), true); }
  void expect_sign(std::string_view text);
  void expect(Token::Kind kind, std::string_view what);
  std::string need_name(std::string_view what);
  [[noreturn]] void fail(std::string_view what) const;

 private:
  bool is(Token::Kind kind, std::string_view text) const { return current().kind == kind && current().text == text; }
  const Token& following() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  std::string dotted_name(std::string_view what);
  ExpressionRef conjunction();
  ExpressionRef negation();
  ExpressionRef comparison();
  ExpressionRef sum();
  ExpressionRef concatenation();
  ExpressionRef product();
  ExpressionRef power();
  ExpressionRef unary(bool has_filters = true);
  ExpressionRef primary();
  ExpressionRef postfix(ExpressionRef value);
  ExpressionRef filters_and_tests(ExpressionRef value);
  ExpressionRef test(ExpressionRef value);
  ExpressionRef subscript(ExpressionRef value);
  ExpressionRef list();
  ExpressionRef mapping();
  ExpressionRef literal();

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;  // of nested expressions
};

}  // namespace fulgurite::chat
