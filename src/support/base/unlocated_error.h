#pragma once
#include <fulgurite/error.h>

namespace fulgurite {

/// An error without source location, from a kernel or from arithmetic on sizes; the dispatcher attaches the call.
class UnlocatedError : public UserError {
 public:
  using UserError::UserError;
};

/// An error about an operand of a fusion, to be attributed to the op that has the operand.
class OperandError : public UnlocatedError {
 public:
  OperandError(const std::string& message, size_t operand) : UnlocatedError(message), operand_(operand) {}
  size_t operand() const { return operand_; }

 private:
  size_t operand_;
};

}  // namespace fulgurite
