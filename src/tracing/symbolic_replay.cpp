#include "tracing/symbolic_replay.h"

#include "ir/symbolic/symbol_values.h"

namespace fulgurite {

using detail::NumberOperation;
using Kind = NumberProxy::Kind;

namespace {

bool is_constant(const NumberProxy& number) { return number.input < 0 && !number.operands[0]; }

// The result of comparing a number with itself.
bool holds_for_equals(NumberOperation operation) {
  return operation == NumberOperation::equal || operation == NumberOperation::less_equal ||
         operation == NumberOperation::greater_equal;
}

template <class T>
Bool compared(NumberOperation operation, T a, T b) {
  if (a.is_symbolic() && a.proxy() == b.proxy()) return holds_for_equals(operation);
  if (a.is_symbolic() || b.is_symbolic()) return detail::record_comparison(operation, a, b);
  return compare(operation, a.hint(), b.hint());
}

}  // namespace

const SymbolicReplay::Number& SymbolicReplay::find(const NumberProxy& number) {
  if (const auto known = known_.find(&number); known != known_.end()) return known->second;
  const Number made = make(number);
  return known_.emplace(&number, made).first->second;
}

SymbolicReplay::Number SymbolicReplay::make(const NumberProxy& number) {
  Number out;
  if (number.kind == Kind::integer) out.integer = make_integer(number);
  else if (number.kind == Kind::floating) out.floating = make_floating(number);
  else out.boolean = make_boolean(number);
  return out;
}

Int SymbolicReplay::make_integer(const NumberProxy& number) {
  if (is_constant(number)) return number.integer;
  if (number.input >= 0) return given_[static_cast<size_t>(number.input)];
  const Int a = integer(*number.operands[0]), b = number.operands[1] ? integer(*number.operands[1]) : a;
  if (a.is_symbolic() || b.is_symbolic()) return detail::record_integer(number.operation, a, b);
  return compute(number.operation, a.hint(), b.hint());
}

// A number that a call passes is a size.
Float SymbolicReplay::make_floating(const NumberProxy& number) {
  if (number.input >= 0 || is_constant(number)) return number.floating;
  const Float a = as_float(*number.operands[0]);
  if (number.operation == NumberOperation::to_float) return a;
  const Float b = number.operands[1] ? as_float(*number.operands[1]) : a;
  if (a.is_symbolic() || b.is_symbolic()) return detail::record_float(number.operation, a, b);
  return compute(number.operation, a.hint(), b.hint());
}

Bool SymbolicReplay::make_boolean(const NumberProxy& number) {
  if (!number.operands[0]) return number.integer != 0;
  const NumberProxy& first = *number.operands[0];
  if (first.kind == Kind::boolean) return number.integer != 0;
  const NumberProxy& second = number.operands[1] ? *number.operands[1] : first;
  if (first.kind == Kind::floating || second.kind == Kind::floating)
    return compared(number.operation, as_float(first), as_float(second));
  return compared(number.operation, integer(first), integer(second));
}

Float SymbolicReplay::as_float(const NumberProxy& number) {
  return number.kind == Kind::floating ? floating(number) : Float(integer(number));
}

void SymbolicReplay::fix(const NumberProxy& number) {
  switch (number.kind) {
    case Kind::integer: static_cast<void>(static_cast<int64_t>(integer(number))); break;
    case Kind::floating: static_cast<void>(static_cast<double>(floating(number))); break;
    case Kind::boolean: static_cast<void>(static_cast<bool>(boolean(number))); break;
  }
}

}  // namespace fulgurite
