#pragma once
#include <string>
#include <string_view>

namespace fulgurite::text {

/// The text in lines of at most `width` columns, broken at spaces; each line but the first begins with `indent` spaces.
/// A word that is longer than a line stays whole.
std::string wrap(std::string_view text, size_t width, size_t indent);

}  // namespace fulgurite::text
