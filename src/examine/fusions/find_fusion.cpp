#include "examine/fusions/find_fusion.h"

#include <algorithm>

#include <fulgurite/error.h>

#include "examine/memory/reuse_distance.h"
#include "ir/analysis/trace_values.h"
#include "jit/jit_state.h"
#include "runtime/slot_layouts.h"
#include "support/text/text.h"

namespace fulgurite::examine {

namespace {

using Programs = std::vector<std::shared_ptr<const Program>>;
using detail::CacheEntry;

void add_programs(const CacheEntry& entry, Programs& forwards, Programs& backwards) {
  if (entry.forward && entry.forward->is_made()) forwards.push_back(entry.forward);
  if (entry.backward && entry.backward->is_made()) backwards.push_back(entry.backward);
}

Programs joined(Programs forwards, const Programs& backwards) {
  forwards.insert(forwards.end(), backwards.begin(), backwards.end());
  return forwards;
}

const BoundSymbol* find_op(const Trace& trace, std::string_view name) {
  for (const BoundSymbol& bound : trace.bound_symbols.read())
    if (bound.is_fusion() && bound.symbol->name() == name) return &bound;
  return nullptr;
}

// With symbolic sizes, last_traces shows the fusions for the recorded sizes; the program for these sizes has its own
// fusions, which compute the same values.
const BoundSymbol* find_counterpart(const Trace& trace, const BoundSymbol& shown) {
  for (const BoundSymbol& bound : trace.bound_symbols.read())
    if (bound.is_fusion() && bound.outputs.read()[0].proxy_id() == shown.outputs.read()[0].proxy_id()) return &bound;
  return nullptr;
}

SlotLayout layout_of(const std::vector<SlotLayout>& layouts, int slot) { return layouts[static_cast<size_t>(slot)]; }

FusionInput described(const TensorProxy& proxy, const SlotLayout& layout) {
  FusionInput out;
  out.name = proxy.name;
  for (const int64_t size : layout.sizes) out.shape.push_back(size);
  for (const int64_t stride : layout.strides) out.strides.push_back(stride);
  out.offset = layout.offset;
  out.dtype = layout.dtype;
  out.device = proxy.device;
  return out;
}

}  // namespace

Programs programs_of_last_call(const Jitted& f, const char* what) {
  const auto last = f.state()->store().last();
  if (!last) throw UserError(text::cat(what, ": the function has not been called yet"));
  Programs forwards, backwards;
  if (!last->has_graph_breaks) add_programs(*last, forwards, backwards);
  else
    for (const auto& subgraph : f.state()->last_subgraphs()) add_programs(*subgraph, forwards, backwards);
  return joined(std::move(forwards), backwards);
}

FoundFusion find_fusion(const Jitted& f, std::string_view name, const char* what) {
  const Programs last = programs_of_last_call(f, what);
  for (const auto& program : last)
    if (const BoundSymbol* bound = find_op(program->trace(), name)) return {program, bound};
  Programs forwards, backwards;
  for (const auto& entry : f.state()->store().entries()) add_programs(*entry, forwards, backwards);
  for (const auto& program : joined(std::move(forwards), backwards))
    if (const BoundSymbol* bound = find_op(program->trace(), name)) return {program, bound};
  for (const auto& stages : {last_traces(f), last_backward_traces(f)}) {
    const BoundSymbol* const shown = stages.empty() ? nullptr : find_op(stages.back(), name);
    for (const auto& program : last)
      if (const BoundSymbol* bound = shown ? find_counterpart(program->trace(), *shown) : nullptr)
        return {program, bound};
  }
  const std::vector<std::string> names = fusion_names(f);
  throw UserError(text::cat(
      what, ": the function has no fusion \"", name, "\"; ",
      names.empty()
          ? std::string("its last call ran none (a small function is not fused unless JitOptions::executors names "
                        "\"fuser\")")
          : text::cat("its last call ran ", text::join(names, [](const std::string& n) { return n; }))));
}

FusionTensors tensors_of(const FoundFusion& found) {
  const ExecutionPlan& plan = found.program->plan();
  const std::vector<SlotLayout> layouts = slot_layouts(plan, found.program->last_inputs());
  const auto step = std::ranges::find_if(plan.steps, [&](const Step& s) { return s.bound == found.bound; });
  if (step == plan.steps.end())
    throw InternalError(text::cat(found.bound->symbol->qualified_name(), " is not a step of its program"));
  FusionTensors out;
  std::vector<int> memory;
  size_t next = 0;
  for_each_argument(*found.bound, [&](const Value& value) {
    if (!value.is_tensor()) return;
    const SlotLayout layout = layout_of(layouts, step->operands[next++]);
    FusionInput& input = out.inputs.emplace_back(described(value.tensor(), layout));
    const auto first = std::ranges::find(memory, layout.memory);
    if (first != memory.end()) input.shares_with = out.inputs[static_cast<size_t>(first - memory.begin())].name;
    memory.push_back(layout.memory);
  });
  const ProgramMemory lies(*found.program);
  const auto position = static_cast<size_t>(step - plan.steps.begin());
  for (size_t i = 0; i < out.inputs.size(); ++i)
    out.inputs[i].moved_since = lies.moved_since(step->operands[i], position);
  for (int k = 0; k < step->result_count; ++k) {
    const int slot = step->result + k;
    FusionInput& output = out.outputs.emplace_back(
        described(found.bound->outputs.read()[static_cast<size_t>(k)].tensor(), layout_of(layouts, slot)));
    output.is_made = true;
    output.moved_since = lies.moved_since(slot, position);
    // Written over an input.
    for (size_t i = 0; i < out.inputs.size(); ++i) {
      if (!lies.overlap(slot, step->operands[i])) continue;
      output.shares_with = out.inputs[i].shares_with.empty() ? out.inputs[i].name : out.inputs[i].shares_with;
      output.offset += (lies.begin(slot) - lies.begin(step->operands[i])) / size_of(output.dtype);
      break;
    }
  }
  return out;
}

int64_t distinct_elements(const FusionInput& input) {
  int64_t count = 1;
  for (size_t d = 0; d < input.shape.size(); ++d)
    if (input.strides[d].hint() != 0 || input.shape[d].hint() == 0) count *= input.shape[d].hint();
  return count;
}

}  // namespace fulgurite::examine
