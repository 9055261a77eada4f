#include <fulgurite/error.h>

#include <string_view>

#include "support/base/standard_library.h"

namespace fulgurite {

bool is_of_standard_library(SourceLocation at) {
  return std::string_view(at.file).find("include/c++/") != std::string_view::npos;
}

namespace {

std::string with_place(const std::string& message, SourceLocation where) {
  if (where.line == 0 || is_of_standard_library(where)) return message;
  std::string_view file = where.file;
  if (const size_t slash = file.rfind('/'); slash != std::string_view::npos) file.remove_prefix(slash + 1);
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
