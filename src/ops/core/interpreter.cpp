#include "ops/core/interpreter.h"

#include <fulgurite/error.h>

#include "support/text/similar_names.h"

namespace fulgurite {

namespace {

Interpreter& recording_outside(Interpreter* outer) {
  if (outer == nullptr) throw InternalError("a number is a symbol in eager mode");
  return *outer;
}

}  // namespace

void refuse_unknown(std::string_view name, std::span<const std::string_view> similar, SourceLocation at) {
  throw UserError(text::cat("there is no operator '", name, "'", suggestion({similar.begin(), similar.end()})), at);
}

Recorder* Interpreter::recorder() { return outer_ ? outer_->recorder() : nullptr; }

Value Interpreter::unknown_call(std::string_view name, const std::vector<Value>& args,
                                std::span<const std::string_view> similar, SourceLocation at) {
  if (outer_) return outer_->unknown_call(name, args, similar, at);
  refuse_unknown(name, similar, at);
}

Int Interpreter::integer(detail::NumberOperation operation, Int a, Int b) {
  return recording_outside(outer_).integer(operation, a, b);
}
Float Interpreter::floating(detail::NumberOperation operation, Float a, Float b) {
  return recording_outside(outer_).floating(operation, a, b);
}
Bool Interpreter::comparison(detail::NumberOperation operation, Int a, Int b) {
  return recording_outside(outer_).comparison(operation, a, b);
}
Bool Interpreter::comparison(detail::NumberOperation operation, Float a, Float b) {
  return recording_outside(outer_).comparison(operation, a, b);
}
void Interpreter::fix(const NumberProxy& number) { recording_outside(outer_).fix(number); }

void Interpreter::demand_value(const Tensor& tensor, const char* what, SourceLocation at) {
  if (outer_) outer_->demand_value(tensor, what, at);
}
void Interpreter::act(const char* what, SourceLocation at) {
  if (outer_) outer_->act(what, at);
}
void Interpreter::break_here(const std::string& what, SourceLocation at) {
  if (outer_) outer_->break_here(what, at);
}
void Interpreter::leave_for_backward(const Tensor& tensor, const char* what, SourceLocation at) {
  if (outer_) outer_->leave_for_backward(tensor, what, at);
  else demand_value(tensor, what, at);
}
Tensor Interpreter::current(const Tensor& tensor, SourceLocation at) {
  return outer_ ? outer_->current(tensor, at) : tensor;
}

}  // namespace fulgurite
