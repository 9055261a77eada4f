#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tokenizer/chat/value.h"

namespace fulgurite::chat {

struct Expression;
struct Statement;
using ExpressionRef = std::unique_ptr<const Expression>;
using Block = std::vector<Statement>;

struct CallArguments {
  std::vector<ExpressionRef> positional;
  std::vector<std::pair<std::string, ExpressionRef>> named;
};

/// A part of an expression.
struct Expression {
  enum class Kind {
    constant,     // value
    name,         // text
    list,         // parts
    tuple,        // parts
    mapping,      // parts: keys and values in turn
    attribute,    // parts[0].text
    item,         // parts[0][parts[1]]
    slice,        // parts[0][parts[1]:parts[2]:parts[3]]; absent ones are null
    call,         // parts[0](arguments)
    filter,       // parts[0] | text(arguments); in a filter block parts[0] is null
    test,         // parts[0] is text(arguments)
    unary,        // text: "-", "+" or "not"
    binary,       // text: an operator
    conditional,  // parts[1] if parts[0] else parts[2], which may be null
  };
  Kind kind = Kind::constant;
  int line = 0;
  Value value;
  std::string text;
  std::vector<ExpressionRef> parts;
  CallArguments arguments;
  int height = 1;  // of the tree of parts
};

/// A condition and the block for which it holds.
struct Branch {
  ExpressionRef condition;  // null: always
  std::shared_ptr<const Block> body;
};

struct Parameter {
  std::string name;
  ExpressionRef otherwise;  // null: none
};

/// A part of a template.
struct Statement {
  enum class Kind { text, output, if_, for_, set, set_block, macro, call, filter, with, break_, continue_ };
  Kind kind = Kind::text;
  int line = 0;
  std::string text;          // text; the name of a macro
  ExpressionRef expression;  // output, the iterated value, the assigned value, the call or the filter
  ExpressionRef condition;   // of a loop
  std::vector<std::vector<std::string>> names;               // the targets of for and set; {"ns", "x"} is an attribute
  std::vector<Branch> branches;                              // if
  std::shared_ptr<const Block> body, otherwise;              // the block of a statement; for's else
  std::shared_ptr<const std::vector<Parameter>> parameters;  // of a macro, or of with
};

}  // namespace fulgurite::chat
