#pragma once
#include <optional>
#include <string_view>

#include "tokenizer/chat/value.h"

namespace fulgurite::chat {

/// An argument of a call by its position or its name.
Value argument(const Arguments& given, size_t position, std::string_view name, const Value& otherwise);
using Filter = Value (*)(const Value& value, const Arguments& given);
/// A filter of lists and dictionaries; null if there is none of this name.
Filter find_list_filter(std::string_view name);

}  // namespace fulgurite::chat
