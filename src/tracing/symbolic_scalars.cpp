#include <algorithm>

#include "ir/symbolic/symbol_values.h"
#include "ops/generated/symbols.h"
#include "ops/structural/number_symbols.h"
#include "tracing/tracer.h"

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

// Symbolic scalars belong to the outermost recording: functions that are differentiated inside it use its symbols. The
// numbering of both must not collide in one trace.
template <class Record>
auto Tracer::record_outside(Record&& record) {
  Recorder& outside = *outer_recorder();
  outside.reserve_ids(trace_.next_id);
  const auto result = record(*outer());
  reserve_ids(outside.reserve_ids(0));
  return result;
}

detail::Ref<NumberProxy> Tracer::make_number(NumberProxy::Kind kind, int64_t integer, double floating,
                                             std::string name) {
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

// Recorded in front of any composite being recorded: sizes of its result are computed from it.
template <class T>
void Tracer::define(NumberOperation operation, NumberProxy& number, T a, T b, Value output) {
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
  bound.forward = origin();
  scopes_.front().push_back(std::move(bound));
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

Int Tracer::add_size(int64_t hint, int input) {
  const auto proxy = make_number(NumberProxy::Kind::integer, hint, static_cast<double>(hint), {});
  proxy->input = input;
  return Int(hint, proxy.get());
}

Int Tracer::add_integer(int64_t hint, std::string name, int input) {
  const Int result = add_integer(hint, std::move(name));
  trace_.numbers->back()->input = input;
  return result;
}

Float Tracer::add_float(double hint, std::string name, int input) {
  const Float result = add_float(hint, std::move(name));
  trace_.numbers->back()->input = input;
  return result;
}

void Tracer::bind_sizes(const Tensor& tensor) {
  std::vector<Value> sizes;
  for (const Int size : tensor.shape()) sizes.push_back(size.proxy() ? Value(size) : Value());
  bind(prims_shape_symbol, {value_of(tensor)}, std::move(sizes));
}

Int Tracer::integer(NumberOperation operation, Int a, Int b) {
  if (outer_recorder()) return record_outside([&](Interpreter& outside) { return outside.integer(operation, a, b); });
  const int64_t value = compute(operation, a.hint(), b.hint());
  const auto proxy = make_number(NumberProxy::Kind::integer, value, static_cast<double>(value), {});
  const Int result(value, proxy.get());
  define(operation, *proxy, a, b, Value(result));
  return result;
}

Float Tracer::floating(NumberOperation operation, Float a, Float b) {
  if (outer_recorder()) return record_outside([&](Interpreter& outside) { return outside.floating(operation, a, b); });
  const double value = compute(operation, a.hint(), b.hint());
  const auto proxy = make_number(NumberProxy::Kind::floating, 0, value, {});
  const Float result(value, proxy.get());
  define(operation, *proxy, a, b, Value(result));
  return result;
}

template <class T>
Bool Tracer::record_comparison(NumberOperation operation, T a, T b) {
  if (outer_recorder())
    return record_outside([&](Interpreter& outside) { return outside.comparison(operation, a, b); });
  const bool value = compare(operation, a.hint(), b.hint());
  const auto proxy = make_number(NumberProxy::Kind::boolean, value, value, {});
  const Bool result(value, proxy.get());
  define(operation, *proxy, a, b, Value(result));
  return result;
}

Bool Tracer::comparison(NumberOperation operation, Int a, Int b) { return record_comparison(operation, a, b); }
Bool Tracer::comparison(NumberOperation operation, Float a, Float b) { return record_comparison(operation, a, b); }

// The rest of the trace was recorded with the recorded call's value.
void Tracer::fix(const NumberProxy& proxy) {
  const_cast<NumberProxy&>(proxy).constraint = NumberProxy::Constraint::fixed;
}

}  // namespace fulgurite
