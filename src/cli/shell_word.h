#pragma once
#include <string>

namespace fulgurite::cli {

/// A word of a command line, quoted so that a shell reads it back.
std::string shell_word(const std::string& text);

}  // namespace fulgurite::cli
