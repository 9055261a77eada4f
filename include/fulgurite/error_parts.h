#pragma once
#include <fulgurite/detail/requirements.h>

#include <string>

#include <fulgurite/error.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// Two arguments of a compiled function share memory, and the function writes into one of them. Nothing has run yet.
class SharedMemoryError : public UserError {
 public:
  using UserError::UserError;
};

/// The parts of an error's message, for front ends that have errors of their own.
struct ErrorParts {
  std::string operation;  // that the message begins with: "matmul"; empty where it begins otherwise
  std::string
      file;  // of the user's line; the whole name where intern_file() knows one that ends so. Empty: it is not known
  int line = 0;
  bool is_unknown_operator = false;  // a name that no operator has
};
/// From the message's text.
ErrorParts parts_of(const UserError&);

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
