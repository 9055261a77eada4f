#include "tokenizer/chat/name_check.h"

#include "support/text/text.h"
#include "support/text/utf8.h"
#include "tokenizer/chat/interpreter.h"

namespace fulgurite::chat {

namespace {

void check(const Block& block, bool is_conditional);

void check(const ExpressionRef& e, bool is_conditional) {
  if (!e) return;
  is_conditional = is_conditional || e->kind == Expression::Kind::conditional;
  const bool is_filter = e->kind == Expression::Kind::filter;
  if (!is_conditional && is_filter && !has_filter(e->text))
    fail(text::cat("line ", e->line, ": the filter '", printable(e->text), "' is not supported"));
  if (!is_conditional && e->kind == Expression::Kind::test && !has_test(e->text))
    fail(text::cat("line ", e->line, ": the test '", printable(e->text), "' is not supported"));
  for (const ExpressionRef& part : e->parts) check(part, is_conditional);
  for (const ExpressionRef& argument : e->arguments.positional) check(argument, is_conditional);
  for (const auto& [name, argument] : e->arguments.named) check(argument, is_conditional);
}

void check(const Statement& s, bool is_conditional) {
  check(s.expression, is_conditional);
  check(s.condition, is_conditional);
  for (const Branch& branch : s.branches) {
    check(branch.condition, true);
    check(*branch.body, true);
  }
  if (s.body) check(*s.body, false);
  if (s.otherwise) check(*s.otherwise, false);
  if (s.parameters)
    for (const Parameter& parameter : *s.parameters) check(parameter.otherwise, is_conditional);
}

void check(const Block& block, bool is_conditional) {
  for (const Statement& statement : block) check(statement, is_conditional);
}

}  // namespace

void check_names(const Block& block) { check(block, false); }

}  // namespace fulgurite::chat
