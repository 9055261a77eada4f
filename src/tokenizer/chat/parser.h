#pragma once
#include <string_view>

#include "tokenizer/chat/syntax.h"

namespace fulgurite::chat {

/// Parses a template. UserError naming the line for syntax that is malformed or not supported (include, import,
/// extends, block).
Block parse_template(std::string_view source);

}  // namespace fulgurite::chat
