#include "examine/written_inputs.h"

#include <algorithm>

#include <fulgurite/symbol.h>

#include "ir/trace_values.h"
#include "ops/symbols.h"
#include "runtime/execution_plan.h"

namespace fulgurite::examine {

namespace {

bool has_fixed_sizes(const Value& value) {
  return !value.is_tensor() || std::ranges::none_of(value.tensor().shape, [](const Int& size) { return size.is_symbolic(); });
}

bool is_program(const Trace& trace) {
  const auto is_step = [](const BoundSymbol& bound) {
    bool are_fixed = true;
    for_each_output(bound, [&](const Value& output) { are_fixed = are_fixed && has_fixed_sizes(output); });
    return are_fixed && (bound.implementation != nullptr || bound.symbol->traits.structural || bound.symbol->view != nullptr ||
                         bound.symbol == &prims_copy__symbol);
  };
  return std::ranges::all_of(input_values(trace), has_fixed_sizes) && std::ranges::all_of(trace.bound_symbols.read(), is_step);
}

}  // namespace

std::unordered_map<int, Value> written_inputs(const Trace& trace) {
  const auto is_write = [](const BoundSymbol& bound) { return bound.symbol == &prims_copy__symbol; };
  std::unordered_map<int, Value> written;
  if (std::ranges::none_of(trace.bound_symbols.read(), is_write) || !is_program(trace)) return written;
  const ExecutionPlan plan = make_execution_plan(trace);
  const std::vector<Value> inputs = input_values(trace);
  for (const Step& step : plan.steps) {
    if (step.kind != Step::Kind::kernel) continue;
    int slot = step.result;
    for_each_output(*step.bound, [&](const Value& output) {
      const Slot& made = plan.slots[slot++];
      if (made.place != Place::input_memory) return;
      const auto found = std::ranges::find(plan.inputs, made.destination);
      if (found != plan.inputs.end()) written.emplace(output.tensor().id, inputs[static_cast<size_t>(found - plan.inputs.begin())]);
    });
  }
  return written;
}

}  // namespace fulgurite::examine
