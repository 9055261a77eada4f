#include <algorithm>

#include <fulgurite/symbol.h>

#include "ir/analysis/uses.h"
#include "ops/generated/symbols.h"
#include "ir/structural.h"

namespace fulgurite {

namespace {

BoundSymbol structural(const Symbol& symbol, SharedVector<Value> args) {
  BoundSymbol bound;
  bound.symbol = &symbol;
  bound.args = std::move(args);
  return bound;
}

bool is_deletion(const BoundSymbol& bound) { return is_del(bound) || is_clear(bound); }

void add_once(SharedVector<Value>& values, const Value& value) {
  if (std::ranges::find(values.read(), value) == values.read().end()) values.push_back(value);
}

}  // namespace

/// Deletes every tensor after its last use: unused results first, then arguments. The trace's results stay. A
/// collection is cleared and deleted when it has been unpacked.
///
///   t0 = matmul(t_0, t_1)              t0 = matmul(t_0, t_1)
///   t1 = gelu(t0)                      del(t_0, t_1)
///   return t1                   ->     t1 = gelu(t0)
///                                      del(t0)
///                                      return t1
Trace delete_last_used(const Trace& trace) {
  if (std::ranges::any_of(trace.bound_symbols, is_deletion)) {
    Trace lasting = without_symbols(trace);
    for (const BoundSymbol& bound : trace.bound_symbols)
      if (!is_deletion(bound)) lasting.bound_symbols.push_back(bound);
    return delete_last_used(lasting);
  }
  std::vector<int> last_use(trace.next_id, -1);
  for (size_t i = 0; i < trace.bound_symbols.size(); ++i)
    for_each_use(trace.bound_symbols[i], [&](int id) { last_use[id] = static_cast<int>(i); });
  SharedVector<BoundSymbol> with_deletions;
  with_deletions.reserve(trace.bound_symbols.size() * 2);
  for (size_t i = 0; i < trace.bound_symbols.size(); ++i) {
    const BoundSymbol& bound = trace.bound_symbols[i];
    with_deletions.push_back(bound);
    if (i + 1 == trace.bound_symbols.size()) break;
    const bool unpacks = is_unpack(bound);
    const auto is_over = [&](const Value& v) { return v.is_tensor() && last_use[proxy_id(v)] <= static_cast<int>(i); };
    SharedVector<Value> ended, emptied;
    for_each_output(bound, [&](const Value& output) {
      if (is_over(output)) ended.push_back(output);
    });
    if (unpacks) {
      // The name alone: the collection's elements live on.
      for (const Value& collection : bound.args) emptied.push_back(Value::collection(collection.collection_name(), {}));
    } else {
      for_each_argument(bound, [&](const Value& argument) {
        if (is_over(argument)) add_once(ended, argument);
      });
    }
    for (const Value& collection : emptied) {
      with_deletions.push_back(structural(prims_clear_collection_symbol, {collection}));
      ended.push_back(collection);
    }
    if (!ended.empty()) with_deletions.push_back(structural(prims_del_symbol, std::move(ended)));
  }
  Trace out = without_symbols(trace);
  out.bound_symbols = std::move(with_deletions);
  return out;
}

}  // namespace fulgurite
