#pragma once
#include "tokenizer/chat/syntax.h"

namespace fulgurite::chat {

/// Throws UserError for a filter or a test that there is not. As in Jinja, one in a condition or directly in its
/// branches is an error only when it is evaluated: a template may ask first.
void check_names(const Block& block);

}  // namespace fulgurite::chat
