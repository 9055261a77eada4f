#pragma once
#include <fulgurite/detail/requirements.h>

#include <stdexcept>
#include <string>

#include <fulgurite/source_location.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// An error in the user's program: the message names the operator, its operands, the line and the remedy.
class UserError : public std::runtime_error {
 public:
  explicit UserError(const std::string& message);
  /// The message ends with "  at file.cpp:12" if the location is known.
  UserError(const std::string& message, SourceLocation where);
};

/// A bug of Fulgurite itself.
class InternalError : public std::logic_error {
 public:
  explicit InternalError(const std::string& message);
};

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
