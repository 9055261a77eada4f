#include "ir/analysis/trace_values.h"

#include <fulgurite/error.h>
#include <fulgurite/symbol.h>

#include "support/text/text.h"

namespace fulgurite {

namespace {

void append_leaves(std::vector<Value>& out, const Value& value) {
  for_each_leaf(value, [&](const Value& leaf) { out.push_back(leaf); });
}

}  // namespace

std::vector<Value> input_values(const Trace& trace) {
  std::vector<Value> out;
  for (const Value& arg : trace.args) append_leaves(out, arg);
  return out;
}

std::vector<Value> returned_values(const Trace& trace) {
  std::vector<Value> out;
  if (trace.bound_symbols.empty()) throw InternalError("a trace without a return");
  const BoundSymbol& last = trace.bound_symbols.back();
  if (trace.tags.has(Tag::joint)) {
    append_leaves(out, keyword(last, "output"));
    append_leaves(out, keyword(last, "fw_flat_out"));
  } else if (trace.tags.has(Tag::augmented_forward)) {
    append_leaves(out, keyword(last, "flat_output"));
    append_leaves(out, keyword(last, "saved_tensors"));
    append_leaves(out, keyword(last, "saved_other"));
  } else {
    for (const Value& arg : last.args) append_leaves(out, arg);
  }
  return out;
}

Trace without_symbols(const Trace& trace) {
  Trace out;
  out.name = trace.name;
  out.args = trace.args;
  out.tags = trace.tags;
  out.provenance = trace.provenance;
  out.milliseconds = trace.milliseconds;
  out.next_id = trace.next_id;
  out.next_name = trace.next_name;
  out.numbers = trace.numbers;
  out.associate_forward = trace.associate_forward;
  return out;
}

const Value& keyword(const BoundSymbol& bound, std::string_view name) {
  for (const auto& [key, value] : bound.kwargs)
    if (key == name) return value;
  throw InternalError(text::cat(bound.symbol->qualified_name(), " has no argument named ", name));
}

}  // namespace fulgurite
