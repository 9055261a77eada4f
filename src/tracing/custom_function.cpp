#include "tracing/custom_function.h"

#include <algorithm>

#include "ir/analysis/trace_values.h"
#include "ops/generated/symbols.h"
#include "ops/structural/custom_function_symbols.h"
#include "ir/structural.h"

namespace fulgurite {

namespace {

void count_ids(const BoundSymbol& bound, Trace& trace) {
  const auto count = [&](const Value& value) { trace.next_id = std::max(trace.next_id, proxy_id(value) + 1); };
  for_each_argument(bound, count);
  for_each_output(bound, count);
  for (const BoundSymbol& subsymbol : bound.subsymbols) count_ids(subsymbol, trace);
}

void add_return(Trace& trace, std::vector<Value> values) {
  BoundSymbol last;
  last.symbol = &prims_return_symbol;
  last.args = std::move(values);
  trace.bound_symbols.push_back(std::move(last));
}

}  // namespace

Trace forward_trace(const BoundSymbol& custom) {
  Trace trace;
  trace.name = custom.name();
  count_ids(custom, trace);
  for (const Value& value : custom.args)
    if (value.is_tensor()) trace.args.push_back(value);
  for (const BoundSymbol& op : forward_lines(custom)) trace.bound_symbols.push_back(op);
  add_return(trace, custom.outputs);
  return trace;
}

CustomBackward backward_trace(const BoundSymbol& custom) {
  CustomBackward out;
  out.trace.name = custom.name() + "Backward";
  count_ids(custom, out.trace);
  std::vector<char> is_outside(out.trace.next_id), is_saved(out.trace.next_id);
  const auto outside = [&](const Value& value) {
    if (value.is_tensor()) is_outside[value.proxy_id()] = true;
  };
  for_each_argument(custom, outside);
  for_each_output(custom, outside);
  const auto use = [&](const Value& value) {
    if (!value.is_tensor() || !is_outside[value.proxy_id()] || is_saved[value.proxy_id()]) return;
    is_saved[value.proxy_id()] = true;
    out.saved.push_back(value);
  };
  std::vector<Value> cotangents, gradients;
  const std::span<const Value> results = custom.outputs.read();
  for (const BoundSymbol& op : backward_lines(custom)) {
    if (is_get_grad(op)) {
      out.cotangents.push_back(static_cast<int>(std::ranges::find(results, op.args[0]) - results.begin()));
      cotangents.push_back(op.outputs[0]);
    } else if (is_put_grad(op)) {
      use(op.args[1]);
      out.targets.push_back(op.args[0]);
      gradients.push_back(op.args[1]);
    } else {
      for_each_argument(op, use);
      out.once_differentiable = out.once_differentiable || is_once_differentiable(op);
      out.trace.bound_symbols.push_back(op);
    }
  }
  out.trace.args = out.saved;
  out.trace.args.insert(out.trace.args.end(), cotangents.begin(), cotangents.end());
  add_return(out.trace, std::move(gradients));
  return out;
}

}  // namespace fulgurite
