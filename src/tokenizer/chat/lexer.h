#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace fulgurite::chat {

struct Token {
  enum class Kind {
    data,
    begin_output,
    end_output,
    begin_block,
    end_block,
    name,
    string,
    integer,
    floating,
    sign,
    end
  };
  Kind kind = Kind::end;
  std::string text;
  int line = 1;
};

/// Divides a template into tokens, as Jinja does with trim_blocks and lstrip_blocks: the line end behind a block or a
/// comment, and the spaces of a line before one, are not part of the text. UserError naming the line for what is not
/// closed or has no meaning.
std::vector<Token> divide(std::string_view source);

}  // namespace fulgurite::chat
