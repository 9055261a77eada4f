// Symbolic scalars: the innermost interpreter records operations on them.
#include <fulgurite/number.h>

#include <cmath>
#include <ostream>

#include <fulgurite/error.h>
#include <fulgurite/value.h>

#include "ops/core/dispatch.h"
#include "support/base/unlocated_error.h"
#include "support/text/text.h"

namespace fulgurite {

namespace {

Interpreter& interpreter_for(const NumberProxy* symbol) {
  if (Interpreter* interpreter = innermost_interpreter()) return *interpreter;
  throw UserError(
      text::cat("the number ", symbol != nullptr ? std::string_view(symbol->name) : "",
                " of a traced function is used after its trace has ended; return it from the function instead"));
}

template <class T>
Interpreter& interpreter_for(T a, T b) {
  return interpreter_for(a.proxy() != nullptr ? a.proxy() : b.proxy());
}

// An Int as a Float of the same symbol: comparisons use the integer's proxy.
Float same_symbol(Int n) { return Float(static_cast<double>(n.hint()), n.proxy()); }

template <class T>
std::string symbol_text(T n) {
  std::string out;
  text::append(out, n);
  return out;
}

}  // namespace

namespace detail {

void refuse_unsigned(uint64_t value) {
  throw UnlocatedError(text::cat(std::to_string(value), " does not fit into i64, which integers have here"));
}
void refuse_overflow() { throw UnlocatedError("a size or a count of elements does not fit 64 bits"); }
void refuse_division_by_zero() { throw UnlocatedError("division of an integer by zero"); }

Int record_integer(NumberOperation operation, Int a, Int b) { return interpreter_for(a, b).integer(operation, a, b); }
Float record_float(NumberOperation operation, Float a, Float b) {
  return interpreter_for(a, b).floating(operation, a, b);
}
Bool record_comparison(NumberOperation operation, Float a, Float b) {
  return interpreter_for(a, b).comparison(operation, a, b);
}
Bool record_comparison(NumberOperation operation, Int a, Int b) {
  return interpreter_for(a, b).comparison(operation, a, b);
}
Float record_conversion(Int n) {
  const Float symbol = same_symbol(n);
  return interpreter_for(n.proxy()).floating(NumberOperation::to_float, symbol, symbol);
}

int64_t concretize(Int n) {
  interpreter_for(n.proxy()).fix(*n.proxy());
  return n.hint();
}
double concretize(Float n) {
  interpreter_for(n.proxy()).fix(*n.proxy());
  return n.hint();
}
bool concretize(Bool b) {
  interpreter_for(b.proxy()).fix(*b.proxy());
  return b.hint();
}

int64_t floor_divide(int64_t a, int64_t b) {
  if (b == 0) throw UserError(text::cat("integer division of ", a, " by zero"));
  // The smallest integer has no negation: it wraps.
  if (b == -1) return static_cast<int64_t>(-static_cast<uint64_t>(a));
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
int64_t floor_remainder(int64_t a, int64_t b) {
  if (b == 0) throw UserError(text::cat("remainder of ", a, " by zero"));
  if (b == -1) return 0;
  const int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

}  // namespace detail

Float sqrt(Float n) {
  if (n.is_symbolic()) return detail::record_float(detail::NumberOperation::square_root, n, n);
  return std::sqrt(n.hint());
}
Float sqrt(Int n) { return sqrt(Float(n)); }

Int min(Int a, Int b) {
  if (a.proxy() || b.proxy()) return detail::record_integer(detail::NumberOperation::minimum, a, b);
  return a.hint() < b.hint() ? a : b;
}
Int max(Int a, Int b) {
  if (a.proxy() || b.proxy()) return detail::record_integer(detail::NumberOperation::maximum, a, b);
  return a.hint() < b.hint() ? b : a;
}
Float min(Float a, Float b) {
  if (a.proxy() || b.proxy()) return detail::record_float(detail::NumberOperation::minimum, a, b);
  return a.hint() < b.hint() ? a : b;
}
Float max(Float a, Float b) {
  if (a.proxy() || b.proxy()) return detail::record_float(detail::NumberOperation::maximum, a, b);
  return a.hint() < b.hint() ? b : a;
}

std::ostream& operator<<(std::ostream& out, Int n) { return out << symbol_text(n); }
std::ostream& operator<<(std::ostream& out, Float n) {
  if (!n.is_symbolic()) return out << n.hint();
  return out << symbol_text(n);
}
std::ostream& operator<<(std::ostream& out, Bool b) { return out << symbol_text(b); }

namespace text {

namespace {

template <class T>
void append_symbol(std::string& out, const NumberProxy* symbol, T value) {
  if (symbol != nullptr) {
    out += symbol->name;
    out += '=';
  }
  append(out, value);
}

}  // namespace

void append(std::string& out, Int n) { append_symbol(out, n.proxy(), n.hint()); }
void append(std::string& out, Float n) { append_symbol(out, n.proxy(), n.hint()); }
void append(std::string& out, Bool b) { append_symbol(out, b.proxy(), b.hint() ? "true" : "false"); }

}  // namespace text

}  // namespace fulgurite
