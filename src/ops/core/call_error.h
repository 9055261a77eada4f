#pragma once
#include <string>

#include <fulgurite/error.h>

#include "support/base/unlocated_error.h"
#include "support/text/text.h"

namespace fulgurite {

/// An error in one call: "glu(cpu f32[3]): the size of dimension 0 must be even, not 3". If a call inside its
/// decomposition fails, that one is appended: "inner(…): the operands' dtypes differ: f32 and i64 (in mm(…))".
class CallError : public UserError {
 public:
  CallError(std::string call, std::string message, SourceLocation at)
      : CallError(std::move(call), std::move(message), "", at) {}
  CallError(std::string call, const CallError& inside, SourceLocation at)
      : CallError(call, inside.message_,
                  call == inside.call_ || !inside.innermost_.empty() ? inside.innermost_ : inside.call_, at) {}

  SourceLocation at() const { return at_; }
  /// The message without the call.
  std::string complaint() const { return complaint(message_, innermost_); }

 private:
  CallError(std::string call, std::string message, std::string innermost, SourceLocation at)
      : UserError(text::cat(call, ": ", complaint(message, innermost)), at),
        call_(std::move(call)),
        message_(std::move(message)),
        innermost_(std::move(innermost)),
        at_(at) {}
  static std::string complaint(const std::string& message, const std::string& innermost) {
    return innermost.empty() ? message : text::cat(message, " (in ", innermost, ")");
  }

  std::string call_, message_, innermost_;
  SourceLocation at_;
};

}  // namespace fulgurite
