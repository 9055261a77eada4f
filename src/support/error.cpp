#include <fulgurite/error.h>

#include <string_view>

#include "support/base/standard_library.h"
#include "support/text/base_name.h"

namespace fulgurite {

bool is_of_standard_library(SourceLocation at) {
  return std::string_view(at.file).find("include/c++/") != std::string_view::npos;
}

namespace {

std::string with_place(const std::string& message, SourceLocation where) {
  if (where.line == 0 || is_of_standard_library(where)) return message;
  const std::string_view file = text::base_name(where.file);
  std::string out = message;
  out += "\n  at ";
  out += file;
  out += ':';
  out += std::to_string(where.line);
  return out;
}

}  // namespace

UserError::UserError(const std::string& message) : std::runtime_error(message) {}
UserError::UserError(const std::string& message, SourceLocation where)
    : std::runtime_error(with_place(message, where)) {}
InternalError::InternalError(const std::string& message) : std::logic_error(message) {}

}  // namespace fulgurite
