#include "tracing/symbolic_scalars.h"

#include "ir/symbolic/symbol_values.h"
#include "ops/core/recorder.h"
#include "ops/generated/symbols.h"
#include "ops/structural/number_symbols.h"
#include "support/text/text.h"

namespace fulgurite {

using detail::NumberOperation;

namespace {

bool is_unary(NumberOperation operation) {
  return operation == NumberOperation::negate || operation == NumberOperation::square_root ||
         operation == NumberOperation::to_float;
}

const NumberProxy* constant(NumberProxy::Kind kind, int64_t integer, double floating) {
  auto* proxy = new NumberProxy;
  proxy->kind = kind;
  proxy->constraint = NumberProxy::Constraint::fixed;
  proxy->integer = integer;
  proxy->floating = floating;
  return proxy;
}
detail::Ref<const NumberProxy> operand(Int n) {
  return detail::Ref<const NumberProxy>(n.proxy() ? n.proxy() : constant(NumberProxy::Kind::integer, n.hint(), 0));
}
detail::Ref<const NumberProxy> operand(Float n) {
  return detail::Ref<const NumberProxy>(n.proxy() ? n.proxy() : constant(NumberProxy::Kind::floating, 0, n.hint()));
}

}  // namespace

void SymbolicScalars::share_with_outer() {
  if (!outer_recorder_ || !outer_recorder_->numbers()) return;
  builder_.reserve_ids(outer_recorder_->reserve_ids(0));
  trace().numbers = outer_recorder_->numbers();
}

// The numbering of both recordings must not collide in one trace.
template <class Record>
auto SymbolicScalars::record_outside(Record&& record) {
  outer_recorder_->reserve_ids(trace().next_id);
  const auto result = record(*outer_);
  builder_.reserve_ids(outer_recorder_->reserve_ids(0));
  return result;
}

detail::Ref<NumberProxy> SymbolicScalars::make_number(NumberProxy::Kind kind, int64_t integer, double floating,
                                                      std::string name) {
  static constexpr const char* prefixes[] = {"i", "f", "b"};
  auto* proxy = new NumberProxy;
  proxy->id = trace().next_id++;
  proxy->name = name.empty() ? text::cat(prefixes[static_cast<int>(kind)], trace().next_name++) : std::move(name);
  proxy->kind = kind;
  proxy->integer = integer;
  proxy->floating = floating;
  detail::Ref<NumberProxy> ref(proxy);
  if (!trace().numbers) trace().numbers = std::make_shared<std::vector<detail::Ref<NumberProxy>>>();
  trace().numbers->push_back(ref);
  return ref;
}

// Recorded in front of any composite being recorded: sizes of its result are computed from it.
template <class T>
void SymbolicScalars::define(NumberOperation operation, NumberProxy& number, T a, T b, Value output) {
  number.operation = operation;
  number.operands[0] = operand(a);
  std::vector<Value> args{Value(a)};
  if (!is_unary(operation)) {
    number.operands[1] = operand(b);
    args.emplace_back(b);
  }
  BoundSymbol bound;
  bound.symbol = &number_symbol(operation);
  bound.args = std::move(args);
  bound.outputs = {std::move(output)};
  bound.forward = builder_.origin();
  builder_.append_outermost(std::move(bound));
}

Int SymbolicScalars::add_integer(int64_t hint, std::string name) {
  const auto proxy = make_number(NumberProxy::Kind::integer, hint, static_cast<double>(hint), std::move(name));
  const Int result(hint, proxy.get());
  trace().args.emplace_back(result);
  return result;
}

Float SymbolicScalars::add_float(double hint, std::string name) {
  const auto proxy = make_number(NumberProxy::Kind::floating, 0, hint, std::move(name));
  const Float result(hint, proxy.get());
  trace().args.emplace_back(result);
  return result;
}

Int SymbolicScalars::add_size(int64_t hint, int input) {
  const auto proxy = make_number(NumberProxy::Kind::integer, hint, static_cast<double>(hint), {});
  proxy->input = input;
  return Int(hint, proxy.get());
}

Int SymbolicScalars::add_integer(int64_t hint, std::string name, int input) {
  const Int result = add_integer(hint, std::move(name));
  trace().numbers->back()->input = input;
  return result;
}

Float SymbolicScalars::add_float(double hint, std::string name, int input) {
  const Float result = add_float(hint, std::move(name));
  trace().numbers->back()->input = input;
  return result;
}

void SymbolicScalars::bind_sizes(const Shape& shape, Value tensor) {
  std::vector<Value> sizes;
  for (const Int size : shape) sizes.push_back(size.proxy() ? Value(size) : Value());
  builder_.bind(prims_shape_symbol, {std::move(tensor)}, std::move(sizes));
}

Int SymbolicScalars::integer(NumberOperation operation, Int a, Int b) {
  if (outer_recorder_) return record_outside([&](Interpreter& outside) { return outside.integer(operation, a, b); });
  const int64_t value = compute(operation, a.hint(), b.hint());
  const auto proxy = make_number(NumberProxy::Kind::integer, value, static_cast<double>(value), {});
  const Int result(value, proxy.get());
  define(operation, *proxy, a, b, Value(result));
  return result;
}

Float SymbolicScalars::floating(NumberOperation operation, Float a, Float b) {
  if (outer_recorder_) return record_outside([&](Interpreter& outside) { return outside.floating(operation, a, b); });
  const double value = compute(operation, a.hint(), b.hint());
  const auto proxy = make_number(NumberProxy::Kind::floating, 0, value, {});
  const Float result(value, proxy.get());
  define(operation, *proxy, a, b, Value(result));
  return result;
}

template <class T>
Bool SymbolicScalars::record_comparison(NumberOperation operation, T a, T b) {
  if (outer_recorder_) return record_outside([&](Interpreter& outside) { return outside.comparison(operation, a, b); });
  const bool value = compare(operation, a.hint(), b.hint());
  const auto proxy = make_number(NumberProxy::Kind::boolean, value, value, {});
  const Bool result(value, proxy.get());
  define(operation, *proxy, a, b, Value(result));
  return result;
}

Bool SymbolicScalars::comparison(NumberOperation operation, Int a, Int b) { return record_comparison(operation, a, b); }
Bool SymbolicScalars::comparison(NumberOperation operation, Float a, Float b) {
  return record_comparison(operation, a, b);
}

// The rest of the trace was recorded with the recorded call's value.
void SymbolicScalars::fix(const NumberProxy& proxy) {
  const_cast<NumberProxy&>(proxy).constraint = NumberProxy::Constraint::fixed;
}

}  // namespace fulgurite
