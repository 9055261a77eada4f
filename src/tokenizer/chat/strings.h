#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fulgurite::chat {

// Python's operations on texts.

/// Removes these characters, or white space, from the ends.
std::string strip(std::string_view text, const std::optional<std::string>& removed, bool from_begin, bool from_end);
/// Parts between separators, or between runs of white space; at most `most` separators count, if it is not negative.
std::vector<std::string> split(std::string_view text, const std::optional<std::string>& separator, int64_t most);
std::vector<std::string> split_from_end(std::string_view text, const std::optional<std::string>& separator,
                                        int64_t most);
std::vector<std::string> split_lines(std::string_view text);
/// Replaces at most `most` occurrences, if it is not negative.
std::string replace(std::string_view text, std::string_view from, std::string_view to, int64_t most);
std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string capitalize(std::string_view text);
std::string title(std::string_view text);
/// As Jinja's filter: words begin behind white space, "-" and opening brackets.
std::string title_words(std::string_view text);

}  // namespace fulgurite::chat
