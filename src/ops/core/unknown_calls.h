#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fulgurite/source_location.h>
#include <fulgurite/value.h>

namespace fulgurite {

/// An interface of interpreters that handle calls by unknown operator names, which are errors otherwise.
class UnknownCalls {
 public:
  virtual ~UnknownCalls() = default;
  /// `similar`: operator names that may have been meant. Returns a substitute for the result.
  virtual Value unknown_call(std::string_view name, const std::vector<Value>& args,
                             std::span<const std::string_view> similar, SourceLocation) = 0;
};

/// Operators within a small edit distance of `name`: three at most, the likeliest first.
std::vector<std::string_view> similar_operators(std::string_view name);

}  // namespace fulgurite
