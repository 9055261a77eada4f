#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace fulgurite {

/// A candidate name: the text to compare, and the text to show.
struct KnownName {
  std::string_view compared, shown;
};

/// Known names within a small edit distance of `wanted`: three at most, the likeliest first.
std::vector<std::string_view> similar_names(std::string_view wanted, const std::vector<KnownName>& known);

/// "; did you mean a or b?", to be appended to an error; empty if there is nothing to suggest.
std::string suggestion(const std::vector<std::string_view>& similar);

}  // namespace fulgurite
