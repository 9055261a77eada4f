#pragma once
#include <fulgurite/error.h>

namespace fulgurite {

/// An error found where the call that it belongs to is not known: in a kernel, in arithmetic on sizes. Who runs the call adds it.
class UnplacedError : public UserError {
 public:
  using UserError::UserError;
};

/// One about an operand of a fusion, which is to be read as that of the line that has it.
class OperandError : public UnplacedError {
 public:
  OperandError(const std::string& message, size_t operand) : UnplacedError(message), operand_(operand) {}
  size_t operand() const { return operand_; }

 private:
  size_t operand_;
};

}  // namespace fulgurite
