#pragma once
#include <string>
#include <string_view>

namespace fulgurite::text {

/// Breaks the text at spaces into lines of at most `width` columns; each line but the first begins with `indent`
/// spaces. A word longer than a line is not broken.
std::string wrap(std::string_view text, size_t width, size_t indent);

}  // namespace fulgurite::text
