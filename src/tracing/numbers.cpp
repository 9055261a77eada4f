#include <cmath>

#include "ops/number_symbols.h"
#include "tracing/tracer.h"

namespace fulgurite {

using detail::NumberOperation;

namespace {

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

bool compare(NumberOperation operation, double a, double b) {
  switch (operation) {
    case NumberOperation::equal: return a == b;
    case NumberOperation::not_equal: return a != b;
    case NumberOperation::less: return a < b;
    case NumberOperation::less_equal: return a <= b;
    case NumberOperation::greater: return a > b;
    default: return a >= b;
  }
}

bool is_unary(NumberOperation operation) {
  return operation == NumberOperation::negate || operation == NumberOperation::square_root ||
         operation == NumberOperation::to_float;
}

template <class T>
std::vector<Value> operands(NumberOperation operation, T a, T b) {
  if (is_unary(operation)) return {Value(a)};
  return {Value(a), Value(b)};
}

}  // namespace

detail::Ref<NumberProxy> Tracer::make_number(NumberProxy::Kind kind, int64_t integer, double floating, std::string name) {
  static constexpr const char* prefixes[] = {"i", "f", "b"};
  auto* proxy = new NumberProxy;
  proxy->id = trace_.next_id++;
  proxy->name = name.empty() ? text::cat(prefixes[static_cast<int>(kind)], trace_.next_name++) : std::move(name);
  proxy->kind = kind;
  proxy->integer = integer;
  proxy->floating = floating;
  detail::Ref<NumberProxy> ref(proxy);
  if (!trace_.numbers) trace_.numbers = std::make_shared<std::vector<detail::Ref<NumberProxy>>>();
  trace_.numbers->push_back(ref);
  return ref;
}

void Tracer::bind_number(NumberOperation operation, std::vector<Value> args, Value output) {
  bind(number_symbol(operation), std::move(args), {std::move(output)});
}

Int Tracer::add_integer(int64_t hint, std::string name) {
  const auto proxy = make_number(NumberProxy::Kind::integer, hint, static_cast<double>(hint), std::move(name));
  const Int result(hint, proxy.get());
  trace_.args.emplace_back(result);
  return result;
}

Float Tracer::add_float(double hint, std::string name) {
  const auto proxy = make_number(NumberProxy::Kind::floating, 0, hint, std::move(name));
  const Float result(hint, proxy.get());
  trace_.args.emplace_back(result);
  return result;
}

Int Tracer::integer(NumberOperation operation, Int a, Int b) {
  const int64_t value = compute(operation, a.hint(), b.hint());
  const auto proxy = make_number(NumberProxy::Kind::integer, value, static_cast<double>(value), {});
  const Int result(value, proxy.get());
  bind_number(operation, operands(operation, a, b), result);
  return result;
}

Float Tracer::floating(NumberOperation operation, Float a, Float b) {
  const double value = compute(operation, a.hint(), b.hint());
  const auto proxy = make_number(NumberProxy::Kind::floating, 0, value, {});
  const Float result(value, proxy.get());
  bind_number(operation, operands(operation, a, b), result);
  return result;
}

Bool Tracer::comparison(NumberOperation operation, Float a, Float b, bool) {
  const bool value = compare(operation, a.hint(), b.hint());
  const auto proxy = make_number(NumberProxy::Kind::boolean, value, value, {});
  const Bool result(value, proxy.get());
  bind_number(operation, operands(operation, a, b), result);
  return result;
}

// The recorded call's value is what the rest of the trace was made with.
void Tracer::fix(const NumberProxy& proxy) { const_cast<NumberProxy&>(proxy).constraint = NumberProxy::Constraint::fixed; }

}  // namespace fulgurite
