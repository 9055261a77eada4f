#include "executors/fuser/cost_model.h"

#include <functional>
#include <queue>
#include <vector>

#include <fulgurite/symbol.h>

#include "executors/registry.h"
#include "ir/analysis/sizes.h"
#include "ir/analysis/trace_values.h"
#include "ir/symbolic/specialize_symbols.h"
#include "support/text/text.h"

namespace fulgurite::fuser {

namespace {

// A kernel is compiled in about 0.1 s, once for each machine. Ops that move less than this when they run one by one
// take a few microseconds either way, and mostly belong to a test or to a number that is printed.
constexpr int64_t min_bytes_moved = int64_t{64} << 10;  // bytes

// The bytes that an op moves when it runs alone, decomposed if it has no eager kernel. Views and structural ops move
// nothing.
int64_t moved_by(const BoundSymbol& bound) {
  if (bound.symbol->traits.view || bound.symbol->traits.structural) return 0;
  int64_t bytes = 0;
  if (!bound.subsymbols.empty() && find_eager_implementation(*bound.symbol) == nullptr) {
    for (const BoundSymbol& subsymbol : bound.subsymbols) bytes += moved_by(subsymbol);
    return bytes;
  }
  for_each_argument(bound, [&](const Value& value) { bytes += bytes_of(value); });
  for_each_output(bound, [&](const Value& value) { bytes += bytes_of(value); });
  return bytes;
}

bool is_profitable(const Trace& trace, const FusionGroup& group) {
  int64_t separately = 0, fused = 0;
  for (const int op : group.ops) separately += moved_by(trace.bound_symbols[op]);
  for (const Value& input : group.inputs) fused += bytes_of(input);
  for (const Value& result : group.results) fused += bytes_of(result);
  return separately >= min_bytes_moved && separately > fused;
}

}  // namespace

bool may_be_profitable(const Trace& trace) {
  // Symbolic sizes may grow, and the choice of kernels is made only once.
  const int64_t least = has_numbers(trace) ? min_bytes_moved / 4 : min_bytes_moved;
  // A group cannot move more than the `max_ops` ops that move most.
  std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> most;
  int64_t bytes = 0;
  for (const BoundSymbol& bound : trace.bound_symbols) {
    const int64_t moved = moved_by(bound);
    bytes += moved;
    most.push(moved);
    if (most.size() > max_ops) {
      bytes -= most.top();
      most.pop();
    }
    if (bytes >= least) return true;
  }
  return false;
}

void keep_profitable(const Trace& trace, FusionGroups& groups) {
  groups.keep_if([&](const FusionGroup& group) { return is_profitable(trace, group); });
}

}  // namespace fulgurite::fuser
