#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fulgurite/source_location.h>
#include <fulgurite/value.h>

namespace fulgurite {

/// An interpreter that is also one of these is told of calls by names that no operator has, which are errors otherwise.
class UnknownCalls {
 public:
  virtual ~UnknownCalls() = default;
  /// `similar`: names of operators that may have been meant. Gives what stands for the result.
  virtual Value unknown_call(std::string_view name, const std::vector<Value>& args, std::span<const std::string_view> similar, SourceLocation) = 0;
};

/// Operators whose names differ in few letters from `name`: three at most, the likeliest first.
std::vector<std::string_view> similar_operators(std::string_view name);

}  // namespace fulgurite
