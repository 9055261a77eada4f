#include "ir/symbolic/symbol_values.h"

#include <bit>
#include <cmath>

namespace fulgurite {

using detail::NumberOperation;
using Kind = NumberProxy::Kind;

int64_t compute(NumberOperation operation, int64_t a, int64_t b) {
  switch (operation) {
    case NumberOperation::add: return detail::exact_add(a, b);
    case NumberOperation::subtract: return detail::exact_subtract(a, b);
    case NumberOperation::multiply: return detail::exact_multiply(a, b);
    case NumberOperation::divide: return detail::exact_divide(a, b);
    case NumberOperation::floor_divide: return detail::floor_divide(a, b);
    case NumberOperation::remainder: return detail::exact_remainder(a, b);
    case NumberOperation::negate: return detail::exact_subtract(0, a);
    case NumberOperation::minimum: return a < b ? a : b;
    case NumberOperation::maximum: return a < b ? b : a;
    default: return 0;
  }
}

double compute(NumberOperation operation, double a, double b) {
  switch (operation) {
    case NumberOperation::add: return a + b;
    case NumberOperation::subtract: return a - b;
    case NumberOperation::multiply: return a * b;
    case NumberOperation::divide: return a / b;
    case NumberOperation::negate: return -a;
    case NumberOperation::minimum: return a < b ? a : b;
    case NumberOperation::maximum: return a < b ? b : a;
    case NumberOperation::square_root: return std::sqrt(a);
    default: return a;
  }
}

namespace {

template <class T>
bool compare_as(NumberOperation operation, T a, T b) {
  switch (operation) {
    case NumberOperation::equal: return a == b;
    case NumberOperation::not_equal: return a != b;
    case NumberOperation::less: return a < b;
    case NumberOperation::less_equal: return a <= b;
    case NumberOperation::greater: return a > b;
    default: return a >= b;
  }
}

}  // namespace

bool compare(NumberOperation operation, int64_t a, int64_t b) { return compare_as(operation, a, b); }
bool compare(NumberOperation operation, double a, double b) { return compare_as(operation, a, b); }

const SymbolValues::Number& SymbolValues::find(const NumberProxy& number) {
  if (const auto known = known_.find(&number); known != known_.end()) return known->second;
  const Number value = evaluate(number);
  return known_.emplace(&number, value).first->second;
}

SymbolValues::Number SymbolValues::evaluate(const NumberProxy& number) {
  const auto of_integer = [](int64_t n) { return Number{n, static_cast<double>(n)}; };
  const bool is_constant = number.input < 0 && !number.operands[0];
  if (are_hints_ || is_constant) {
    return number.kind == Kind::floating ? Number{0, number.floating} : of_integer(number.integer);
  }
  if (number.input >= 0) {
    const uint64_t bits = given_[static_cast<size_t>(number.input)];
    return number.kind == Kind::floating ? Number{0, std::bit_cast<double>(bits)}
                                         : of_integer(static_cast<int64_t>(bits));
  }
  const NumberProxy& first = *number.operands[0];
  const NumberProxy& second = number.operands[1] ? *number.operands[1] : first;
  const Number a = find(first), b = find(second);
  switch (number.kind) {
    case Kind::integer: return of_integer(compute(number.operation, a.integer, b.integer));
    case Kind::floating: return {0, compute(number.operation, a.floating, b.floating)};
    case Kind::boolean: break;
  }
  const bool are_floats = first.kind == Kind::floating || second.kind == Kind::floating;
  return of_integer(are_floats ? compare(number.operation, a.floating, b.floating)
                               : compare(number.operation, a.integer, b.integer));
}

int64_t SymbolValues::integer(const NumberProxy& number) { return find(number).integer; }
double SymbolValues::floating(const NumberProxy& number) { return find(number).floating; }

bool SymbolValues::is_as_recorded(const NumberProxy& number) {
  if (number.kind != Kind::floating) return integer(number) == number.integer;
  return std::bit_cast<uint64_t>(floating(number)) == std::bit_cast<uint64_t>(number.floating);
}

}  // namespace fulgurite
