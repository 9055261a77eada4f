#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace fulgurite {

/// Reads the code point at `at` and moves past it; -1, without moving, for bytes that are not UTF-8.
int64_t next_code_point(std::string_view text, size_t& at);
bool is_utf8(std::string_view text);
/// A text as one line of an error: control characters and bytes that are not UTF-8 become '?', and longer texts are
/// truncated.
std::string printable(std::string_view text, size_t longest = 200);
void append_utf8(std::string& out, uint32_t code);

}  // namespace fulgurite
