#include "ir/analysis/uses.h"

#include <fulgurite/symbol.h>

#include "ir/custom_function.h"

namespace fulgurite {

Uses::Uses(const Trace& trace)
    : producer_(trace.next_id, -1), last_use_(trace.next_id, -1), first_(trace.next_id + 1, 0) {
  const int count = static_cast<int>(trace.bound_symbols.size());
  for (int i = 0; i < count; ++i) {
    for_each_output(trace.bound_symbols[i], [&](const Value& output) {
      if (const int id = proxy_id(output); id >= 0 && producer_[id] < 0) producer_[id] = i;
    });
    for_each_use(trace.bound_symbols[i], [&](int id) {
      if (last_use_[id] != i) ++first_[id + 1];
      last_use_[id] = i;
    });
  }
  for (int id = 0; id < trace.next_id; ++id) first_[id + 1] += first_[id];
  consumers_.resize(first_.back());
  std::vector<int> filled(first_.begin(), first_.end() - 1);
  for (int i = 0; i < count; ++i) {
    for_each_use(trace.bound_symbols[i], [&](int id) {
      if (filled[id] == first_[id] || consumers_[filled[id] - 1] != i) consumers_[filled[id]++] = i;
    });
  }
}

bool has_effect(const BoundSymbol& bound) {
  const bool gives_nothing = bound.symbol->signature.result_count == 0 && bound.outputs.empty();
  if (!bound.symbol->traits.effects.empty() || gives_nothing) return true;
  for (const BoundSymbol& subsymbol : forward_lines(bound))
    if (has_effect(subsymbol)) return true;
  return false;
}

}  // namespace fulgurite
