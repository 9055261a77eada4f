#include <fulgurite/symbol.h>

#include "ir/uses.h"
#include "ops/symbols.h"

namespace fulgurite {

/// Removes the symbols whose results nobody uses. Symbols that write or draw stay, and one with several results stays when any is used.
///
///   t0 = tanh(t_0)                     t1 = mul(t_0, t_0)
///   t1 = mul(t_0, t_0)          ->     return t1
///   return t1
Trace eliminate_dead_code(const Trace& trace) {
  std::vector<char> is_needed(trace.next_id, false);
  std::vector<char> is_kept(trace.bound_symbols.size(), false);
  size_t kept_count = 0;
  for (size_t i = trace.bound_symbols.size(); i-- > 0;) {
    const BoundSymbol& bound = trace.bound_symbols[i];
    // Unpacking is the function's calling convention: it stays.
    bool keep = has_effect(bound) || bound.symbol == &prims_unpack_sequence_symbol;
    for_each_output(bound, [&](const Value& output) {
      if (const int id = proxy_id(output); id >= 0) keep = keep || is_needed[id];
    });
    if (!keep) continue;
    is_kept[i] = true;
    ++kept_count;
    for_each_use(bound, [&](int id) { is_needed[id] = true; });
  }
  Trace out = without_symbols(trace);
  out.bound_symbols.reserve(kept_count);
  for (size_t i = 0; i < is_kept.size(); ++i)
    if (is_kept[i]) out.bound_symbols.push_back(trace.bound_symbols[i]);
  return out;
}

}  // namespace fulgurite
