#include "executors/fusion/dependency_graph.h"

#include <algorithm>

#include <fulgurite/symbol.h>

#include "codegen/lowering/lower_group.h"
#include "ir/analysis/effects.h"
#include "ir/analysis/view_roots.h"
#include "ir/structural.h"

namespace fulgurite::fuser {

namespace {

void add_once(std::vector<int>& ops, int op) {
  if (std::ranges::find(ops, op) == ops.end()) ops.push_back(op);
}

// An op that writes into memory, such as a hook. A trace's own writes into inputs run after everything else.
bool may_write_inputs(const BoundSymbol& bound) {
  return effects_of(bound).has(Effect::memory) && !bound.symbol->traits.structural && !is_write(bound);
}

// Ops that read inputs of the trace, directly or through views; none if nothing may write inputs.
std::vector<char> consumers_of_inputs(const Trace& trace) {
  const std::span<const BoundSymbol> ops = trace.bound_symbols.read();
  std::vector<char> reads(ops.size());
  if (std::ranges::none_of(ops, may_write_inputs)) return reads;
  const std::vector<int> roots = view_roots(ops, trace.next_id);
  std::vector<char> is_input(static_cast<size_t>(trace.next_id));
  for (const Value& input : input_values(trace))
    if (input.is_tensor()) is_input[static_cast<size_t>(input.proxy_id())] = true;
  for (size_t i = 0; i < ops.size(); ++i)
    for_each_use(ops[i], [&](int id) {
      reads[i] = reads[i] || is_input[static_cast<size_t>(roots[static_cast<size_t>(id)])] != 0;
    });
  return reads;
}

}  // namespace

DependencyGraph::DependencyGraph(const Trace& trace, bool looks_through_views)
    : trace_(trace),
      uses_(trace),
      before_(trace.bound_symbols.size()),
      after_(trace.bound_symbols.size()),
      is_transparent_(trace.bound_symbols.size()) {
  for (size_t i = 0; i < before_.size(); ++i)
    is_transparent_[i] = looks_through_views && codegen::is_transparent_view(trace.bound_symbols[i]);
  const std::vector<char> reads_inputs = consumers_of_inputs(trace);
  std::vector<int> reads;  // of inputs, since the last effect that may write them
  EffectOrder effects;
  const auto wait = [&](int op, int for_op) {
    if (for_op < 0 || for_op == op) return;
    add_once(before_[op], for_op);
    add_once(after_[for_op], op);
  };
  for (int i = 0; i < size(); ++i) {
    const BoundSymbol& bound = trace.bound_symbols[i];
    const auto wait_for = [&](int id) {
      const int made = uses_.producer(id);
      // Readers of a transparent view depend on the producer of its base.
      const Value* from = nullptr;
      if (made >= 0 && is_transparent_[made]) from = &base(trace.bound_symbols[made].args[0]);
      wait(i, from ? uses_.producer(proxy_id(*from)) : made);
    };
    for_each_use(bound, wait_for);
    if (!has_effect(bound)) {
      if (reads_inputs[static_cast<size_t>(i)]) reads.push_back(i);
      continue;
    }
    for (const int before : effects.add(bound, i)) wait(i, before);
    if (!may_write_inputs(bound)) continue;
    for (const int read : reads) wait(i, read);
    reads.clear();
  }
}

const Value& DependencyGraph::base(const Value& value, std::vector<int>* views) const {
  const Value* at = &value;
  while (true) {
    const int made = at->is_tensor() ? uses_.producer(at->tensor().id) : -1;
    if (made < 0 || !is_transparent_[made]) break;
    if (views) views->insert(views->begin(), made);
    at = &trace_.bound_symbols[made].args[0];
  }
  return *at;
}

void DependencyGraph::consumers(int id, std::vector<int>& ops) const {
  for (const int op : uses_.consumers(id)) {
    if (!is_transparent_[op]) add_once(ops, op);
    else for_each_output(trace_.bound_symbols[op], [&](const Value& view) { consumers(view.tensor().id, ops); });
  }
}

}  // namespace fulgurite::fuser
