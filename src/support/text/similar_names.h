#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace fulgurite {

/// A name that can be meant: what is compared with the given one, and how it is shown.
struct KnownName {
  std::string_view compared, shown;
};

/// Known names that differ in few letters from `wanted`: three at most, the likeliest first.
std::vector<std::string_view> similar_names(std::string_view wanted, const std::vector<KnownName>& known);

/// "; did you mean a or b?", to be appended to an error; empty if there is nothing to suggest.
std::string suggestion(const std::vector<std::string_view>& similar);

}  // namespace fulgurite
