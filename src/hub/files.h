#pragma once
#include <string>
#include <string_view>

namespace fulgurite::hub {

/// Returns a file's content. UserError naming the path if it cannot be read.
std::string read_text(const std::string& path);
/// The path of a file in a folder.
std::string join_path(const std::string& folder, std::string_view name);

}  // namespace fulgurite::hub
