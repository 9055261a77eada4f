#pragma once
#include <string_view>

namespace fulgurite::text {

/// "model.cpp" of "/home/me/model.cpp": what follows the last slash.
constexpr std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace fulgurite::text
