#include "ir/analysis/trace_bytes.h"

namespace fulgurite {

namespace {

int64_t bytes(size_t count, size_t size) { return static_cast<int64_t>(count * size); }

}  // namespace

void TraceBytes::add(const Trace& trace) {
  total_ += bytes(1, sizeof(Trace));
  for (const Value& arg : trace.args) add(arg);
  add(trace.bound_symbols);
  if (trace.numbers && is_new(trace.numbers.get()))
    total_ += bytes(trace.numbers->size(), sizeof(NumberProxy) + sizeof(void*));
}

void TraceBytes::add(const SharedVector<BoundSymbol>& ops) {
  if (!is_new(ops.data())) return;
  total_ += bytes(ops.size(), sizeof(BoundSymbol));
  for (const BoundSymbol& bound : ops) {
    add(bound.args);
    add(bound.outputs);
    add(bound.subsymbols);
    if (is_new(bound.forward.data())) total_ += bytes(bound.forward.size(), sizeof(ForwardOrigin));
    if (!is_new(bound.kwargs.data())) continue;
    total_ += bytes(bound.kwargs.size(), sizeof(bound.kwargs[0]));
    for (const auto& [name, value] : bound.kwargs) add(value);
  }
}

void TraceBytes::add(const SharedVector<Value>& values) {
  if (!is_new(values.data())) return;
  total_ += bytes(values.size(), sizeof(Value));
  for (const Value& value : values) add(value);
}

void TraceBytes::add(const Value& value) {
  if (value.is_tensor()) {
    if (is_new(&value.tensor())) total_ += bytes(1, sizeof(TensorProxy));
  } else if (value.is_list() || value.is_collection()) {
    const std::vector<Value>& items = value.list();
    if (!is_new(&items)) return;
    total_ += bytes(items.size(), sizeof(Value));
    for (const Value& item : items) add(item);
  } else if (value.is_string() && is_new(&value.string())) {
    total_ += bytes(value.string().size(), 1);
  }
}

}  // namespace fulgurite
