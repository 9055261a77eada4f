#include "tokenizer/chat/parser.h"

#include <algorithm>

#include "support/text/text.h"
#include "support/text/utf8.h"
#include "tokenizer/chat/expression_parser.h"
#include "tokenizer/chat/name_check.h"

namespace fulgurite::chat {

namespace {

using Kind = Statement::Kind;
using TokenKind = Token::Kind;

constexpr int deepest = 64;

class Parser {
 public:
  explicit Parser(std::string_view source) : read_(divide(source)) {}

  Block run() {
    Block out = block({});
    if (read_.current().kind != TokenKind::end)
      read_.fail(text::cat("unexpected '", printable(read_.current().text), "'"));
    return out;
  }

 private:
  using Ends = std::initializer_list<std::string_view>;

  Statement make(Kind kind) const {
    Statement out;
    out.kind = kind;
    out.line = read_.current().line;
    return out;
  }

  // Statements up to a block that begins with one of these names; its name is the current token then.
  Block block(Ends ends) {
    if (++depth_ > deepest) read_.fail("blocks are nested too deeply");
    Block out;
    while (read_.current().kind != TokenKind::end) {
      const TokenKind kind = read_.current().kind;
      if (kind == TokenKind::data) {
        Statement text = make(Kind::text);
        text.text = read_.take().text;
        out.push_back(std::move(text));
      } else if (kind == TokenKind::begin_output) {
        read_.take();
        Statement output = make(Kind::output);
        output.expression = read_.tuple();
        read_.expect(TokenKind::end_output, "'}}'");
        out.push_back(std::move(output));
      } else {
        read_.expect(TokenKind::begin_block, "a block");
        if (is_one_of(ends)) {
          --depth_;
          return out;
        }
        add_statement(out);
      }
    }
    if (ends.size() > 0) read_.fail(text::cat("a block is not closed by ", *(ends.end() - 1)));
    --depth_;
    return out;
  }
  bool is_one_of(Ends names) const {
    return std::any_of(names.begin(), names.end(), [this](std::string_view name) { return read_.is_name(name); });
  }
  void end_block() { read_.expect(TokenKind::end_block, "'%}'"); }

  std::shared_ptr<const Block> body(Ends ends) {
    end_block();
    return std::make_shared<const Block>(block(ends));
  }
  std::shared_ptr<const Block> body_up_to(std::string_view end) {
    auto out = body({end});
    read_.take();
    end_block();
    return out;
  }

  void add_statement(Block& out) {
    const std::string name = read_.need_name("the name of a block");
    if (name == "if") return out.push_back(if_block());
    if (name == "for") return out.push_back(for_block());
    if (name == "set") return out.push_back(set_block());
    if (name == "macro") return out.push_back(macro_block());
    if (name == "call") return out.push_back(call_block());
    if (name == "filter") return out.push_back(filter_block());
    if (name == "with") return out.push_back(with_block());
    if (name == "break" || name == "continue") {
      out.push_back(make(name == "break" ? Kind::break_ : Kind::continue_));
      return end_block();
    }
    if (name == "generation") {  // marks an assistant's text, for training
      const auto inner = body_up_to("endgeneration");
      Statement same = make(Kind::with);
      same.body = inner;
      same.parameters = std::make_shared<const std::vector<Parameter>>();
      return out.push_back(std::move(same));
    }
    read_.fail(text::cat("the block '", printable(name), "' is not supported"));
  }

  Statement if_block() {
    Statement out = make(Kind::if_);
    for (bool is_last = false; !is_last;) {
      Branch branch;
      branch.condition = read_.tuple();
      branch.body = body({"elif", "else", "endif"});
      out.branches.push_back(std::move(branch));
      is_last = !read_.skip_name("elif");
    }
    if (read_.skip_name("else")) out.branches.push_back({nullptr, body({"endif"})});
    read_.take();
    end_block();
    return out;
  }

  // "a", "a, b", or "ns.x".
  std::vector<std::vector<std::string>> targets() {
    std::vector<std::vector<std::string>> out;
    const bool is_wrapped = read_.skip_sign("(");
    do {
      if (read_.is_sign(")") || read_.is_name("in")) break;
      out.push_back({read_.need_name("a name")});
      while (read_.skip_sign(".")) out.back().push_back(read_.need_name("the name of an attribute"));
      if (out.back().size() > 2) read_.fail("only attributes of a namespace can be set");
    } while (read_.skip_sign(","));
    if (is_wrapped) read_.expect_sign(")");
    return out;
  }

  Statement for_block() {
    Statement out = make(Kind::for_);
    out.names = targets();
    if (!read_.skip_name("in")) read_.fail("'in' is missing in a loop");
    out.expression = iterated();
    if (read_.skip_name("if")) out.condition = read_.expression();
    if (read_.is_name("recursive")) read_.fail("recursive loops are not supported");
    out.body = body({"else", "endfor"});
    if (read_.skip_name("else")) out.otherwise = body({"endfor"});
    read_.take();
    end_block();
    return out;
  }
  // A list without parentheses is a tuple here too.
  ExpressionRef iterated() {
    ExpressionRef first = read_.disjunction();
    if (!read_.is_sign(",")) return first;
    auto out = std::make_unique<Expression>();
    out->kind = Expression::Kind::tuple;
    out->line = first->line;
    out->parts.push_back(std::move(first));
    while (read_.skip_sign(",")) out->parts.push_back(read_.disjunction());
    return out;
  }

  Statement set_block() {
    Statement out = make(Kind::set);
    out.names = targets();
    if (read_.skip_sign("=")) {
      out.expression = read_.tuple();
      end_block();
      return out;
    }
    out.kind = Kind::set_block;
    if (read_.skip_sign("|")) out.expression = read_.filters();
    out.body = body_up_to("endset");
    return out;
  }

  std::shared_ptr<const std::vector<Parameter>> parameters() {
    std::vector<Parameter> out;
    read_.expect_sign("(");
    while (!read_.is_sign(")")) {
      Parameter parameter;
      parameter.name = read_.need_name("the name of a parameter");
      if (read_.skip_sign("=")) parameter.otherwise = read_.expression();
      out.push_back(std::move(parameter));
      if (!read_.skip_sign(",")) break;
    }
    read_.expect_sign(")");
    return std::make_shared<const std::vector<Parameter>>(std::move(out));
  }

  Statement macro_block() {
    Statement out = make(Kind::macro);
    out.text = read_.need_name("the name of a macro");
    out.parameters = parameters();
    out.body = body_up_to("endmacro");
    return out;
  }

  Statement call_block() {
    Statement out = make(Kind::call);
    out.parameters = read_.is_sign("(") ? parameters() : std::make_shared<const std::vector<Parameter>>();
    out.expression = read_.expression();
    if (out.expression->kind != Expression::Kind::call) read_.fail("a call block needs a call");
    out.body = body_up_to("endcall");
    return out;
  }

  Statement filter_block() {
    Statement out = make(Kind::filter);
    out.expression = read_.filters();
    out.body = body_up_to("endfilter");
    return out;
  }

  Statement with_block() {
    Statement out = make(Kind::with);
    std::vector<Parameter> values;
    while (read_.current().kind == TokenKind::name) {
      Parameter value;
      value.name = read_.take().text;
      read_.expect_sign("=");
      value.otherwise = read_.expression();
      values.push_back(std::move(value));
      if (!read_.skip_sign(",")) break;
    }
    out.parameters = std::make_shared<const std::vector<Parameter>>(std::move(values));
    out.body = body_up_to("endwith");
    return out;
  }

  ExpressionParser read_;
  int depth_ = 0;  // of nested blocks
};

}  // namespace

Block parse_template(std::string_view source) {
  Block out = Parser(source).run();
  check_names(out);
  return out;
}

}  // namespace fulgurite::chat
