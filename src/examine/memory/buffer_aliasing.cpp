#include "examine/memory/buffer_aliasing.h"

#include <algorithm>

#include <fulgurite/symbol.h>

#include "ir/analysis/trace_values.h"
#include "ir/structural.h"
#include "runtime/plan/execution_plan.h"
#include "support/containers/small_vector.h"

namespace fulgurite::examine {

namespace {

bool has_fixed_sizes(const Value& value) {
  return !value.is_tensor() ||
         std::ranges::none_of(value.tensor().shape, [](const Int& size) { return size.is_symbolic(); });
}

bool is_program(const Trace& trace) {
  const auto is_step = [](const BoundSymbol& bound) {
    bool are_fixed = true;
    for_each_output(bound, [&](const Value& output) { are_fixed = are_fixed && has_fixed_sizes(output); });
    return are_fixed && (bound.implementation != nullptr || bound.symbol->traits.structural ||
                         bound.symbol->view != nullptr || is_write(bound));
  };
  const bool is_ended = !trace.bound_symbols.empty() && is_return(trace.bound_symbols.back());
  return is_ended && std::ranges::all_of(input_values(trace), has_fixed_sizes) &&
         std::ranges::all_of(trace.bound_symbols.read(), is_step);
}

}  // namespace

std::unordered_map<int, Value> buffer_aliasing(const Trace& trace) {
  std::unordered_map<int, Value> written;
  if (!is_program(trace)) return written;
  const ExecutionPlan plan = make_execution_plan(trace);
  const std::vector<Value> inputs = input_values(trace);
  for (const Step& step : plan.steps) {
    if (step.kind != Step::Kind::kernel) continue;
    SmallVector<Value, 4> operands;
    for_each_argument(*step.bound, [&](const Value& value) {
      if (value.is_tensor()) operands.push_back(value);
    });
    int slot = step.result;
    for_each_output(*step.bound, [&](const Value& output) {
      const Slot& made = plan.slots[static_cast<size_t>(slot++)];
      const auto over_input = std::ranges::find(plan.inputs, made.destination);
      if (made.storage_class == StorageClass::input_memory && over_input != plan.inputs.end())
        written.emplace(output.tensor().id, inputs[static_cast<size_t>(over_input - plan.inputs.begin())]);
      for (size_t i = 0; made.storage_class == StorageClass::arena && made.root != slot - 1 && i < operands.size(); ++i)
        if (plan.slots[static_cast<size_t>(step.operands[i])].root == made.root)
          written.emplace(output.tensor().id, operands[i]);
    });
  }
  return written;
}

}  // namespace fulgurite::examine
