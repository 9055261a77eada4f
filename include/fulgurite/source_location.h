#pragma once
#include <fulgurite/detail/requirements.h>

#include <fulgurite/detail/hide_macros.h>

namespace fulgurite {

/// The source line of a call. Functions that record accept one as a defaulted last parameter, so it is the caller's
/// line. In an expression over several lines the compiler chooses the line.
struct SourceLocation {
  const char* file = "";
  int line = 0;

  static constexpr SourceLocation here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
  friend constexpr bool operator==(const SourceLocation& a, const SourceLocation& b) {
    return a.file == b.file && a.line == b.line;
  }
};

}  // namespace fulgurite

#include <fulgurite/detail/restore_macros.h>
