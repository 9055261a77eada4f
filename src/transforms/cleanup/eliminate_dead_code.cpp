#include <fulgurite/symbol.h>

#include "ir/analysis/uses.h"
#include "ir/structural.h"
#include "transforms/in_place.h"

namespace fulgurite {

namespace {

/// The symbols that stay, by position, and their number.
struct Kept {
  std::vector<char> is_kept;
  size_t count = 0;
};

Kept find_needed(const Trace& trace) {
  std::vector<char> is_needed(trace.next_id, false);
  Kept kept{std::vector<char>(trace.bound_symbols.size(), false), 0};
  for (size_t i = trace.bound_symbols.size(); i-- > 0;) {
    const BoundSymbol& bound = trace.bound_symbols[i];
    // Unpacking is the function's calling convention: it stays.
    bool keep = has_effect(bound) || is_unpack(bound);
    for_each_output(bound, [&](const Value& output) {
      if (const int id = proxy_id(output); id >= 0) keep = keep || is_needed[id];
    });
    if (!keep) continue;
    kept.is_kept[i] = true;
    ++kept.count;
    for_each_use(bound, [&](int id) { is_needed[id] = true; });
  }
  return kept;
}

}  // namespace

/// Removes the symbols with unused results. Symbols that write or draw stay, and one with several results stays if any
/// is used.
///
///   t0 = tanh(t_0)                     t1 = mul(t_0, t_0)
///   t1 = mul(t_0, t_0)          ->     return t1
///   return t1
Trace eliminate_dead_code(const Trace& trace) {
  const Kept kept = find_needed(trace);
  if (kept.count == trace.bound_symbols.size()) return trace;
  SharedVector<BoundSymbol> symbols;
  symbols.reserve(kept.count);
  for (size_t i = 0; i < kept.is_kept.size(); ++i)
    if (kept.is_kept[i]) symbols.push_back(trace.bound_symbols[i]);
  Trace out = without_symbols(trace);
  out.bound_symbols = std::move(symbols);
  return out;
}

void remove_dead_code(Trace& trace) {
  const Kept kept = find_needed(trace);
  if (kept.count == trace.bound_symbols.size()) return;
  const std::span<BoundSymbol> symbols = trace.bound_symbols.change();
  size_t next = 0;
  for (size_t i = 0; i < kept.is_kept.size(); ++i) {
    if (!kept.is_kept[i]) continue;
    if (next != i) symbols[next] = std::move(symbols[i]);
    ++next;
  }
  trace.bound_symbols.resize(next);
}

}  // namespace fulgurite
