#include "transforms/cleanup/common_subexpressions.h"

#include <algorithm>
#include <bit>

#include <fulgurite/symbol.h>

#include "ir/analysis/uses.h"
#include "ir/analysis/view_roots.h"
#include "ir/custom_function.h"
#include "ir/substitution.h"

namespace fulgurite {

namespace {

// `scope` separates ops that are not merged.
size_t hash_of(const BoundSymbol& bound, size_t scope) {
  size_t hash = std::hash<const Symbol*>()(bound.symbol);
  const auto mix = [&](size_t more) { hash = (hash ^ more) * 0x9E3779B97F4A7C15u + (hash >> 29); };
  mix(scope);
  for (const Value& value : bound.args) mix(value.hash());
  for (const auto& [name, value] : bound.kwargs) mix(value.hash());
  return hash;
}

// Arithmetic on sizes is structural and stays: the sizes in types refer to its results. Custom functions are not
// determined by name and arguments.
bool may_merge(const BoundSymbol& bound) {
  return !has_effect(bound) && !bound.symbol->traits.structural && !is_custom_function(bound);
}

bool same_results(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  return !a.is_tensor() || a.tensor().requires_grad == b.tensor().requires_grad;
}

bool same_expression(const BoundSymbol& a, const BoundSymbol& b) {
  return a.symbol == b.symbol && a.implementation == b.implementation && a.args == b.args && a.kwargs == b.kwargs &&
         std::ranges::equal(a.outputs, b.outputs, same_results);
}

bool same_tags(const BoundSymbol& a, const BoundSymbol& b) {
  return a.tags == b.tags && std::ranges::equal(a.outputs, b.outputs, [](const Value& x, const Value& y) {
           return !x.is_tensor() || x.tensor().tags == y.tensor().tags;
         });
}

/// The first position with a hash: open addressing, never more than half full.
class FirstPositions {
 public:
  explicit FirstPositions(size_t most) : entries_(std::bit_ceil(2 * most + 1)) {}
  int find_or_add(size_t hash, int position) {
    const size_t mask = entries_.size() - 1;
    for (size_t i = (hash ^ hash >> 32) & mask;; i = (i + 1) & mask) {
      Entry& entry = entries_[i];
      if (entry.position < 0) entry = {hash, position};
      if (entry.hash == hash) return entry.position;
    }
  }

 private:
  struct Entry {
    size_t hash = 0;
    int position = -1;
  };
  std::vector<Entry> entries_;
};

class Merging {
 public:
  Merging(const Trace& trace, std::span<const int> group_of)
      : trace_(trace),
        group_of_(group_of),
        merged_(trace.next_id),
        is_returned_(trace.next_id, false),
        first_(trace.bound_symbols.size()) {
    if (trace.bound_symbols.empty()) return;
    const std::vector<int> roots = view_roots(trace.bound_symbols.read(), trace.next_id);
    for_each_use(trace.bound_symbols.back(), [&](int id) { is_returned_[id] = is_returned_[roots[id]] = true; });
  }

  /// None if there is nothing to merge.
  std::optional<Trace> run() {
    const std::span<const BoundSymbol> symbols = trace_.bound_symbols.read();
    BoundSymbol renamed;
    for (size_t i = 0; i < symbols.size(); ++i) {
      const BoundSymbol* bound = &symbols[i];
      if (!merged_.is_empty()) {
        renamed = symbols[i];
        merged_.apply(renamed);
        bound = &renamed;
      }
      if (is_in_group(i) && may_merge(*bound) && merge(*bound, i)) continue;
      if (is_merging_) kept_.push_back(*bound);
    }
    if (!is_merging_) return std::nullopt;
    Trace out = without_symbols(trace_);
    out.bound_symbols = std::move(kept_);
    return out;
  }

 private:
  bool is_in_group(size_t position) const { return group_of_.empty() || group_of_[position] >= 0; }
  // A recomputed op is not merged with the first time, unless both are in one group.
  size_t scope_of(const BoundSymbol& bound, size_t position) const {
    return group_of_.empty() ? bound.tags.has(Tag::recomputed) : static_cast<size_t>(group_of_[position]);
  }

  // Merges the op into an equal earlier one, if there is one.
  bool merge(const BoundSymbol& bound, size_t position) {
    const int at = is_merging_ ? static_cast<int>(kept_.size()) : static_cast<int>(position);
    const int found = first_.find_or_add(hash_of(bound, scope_of(bound, position)), at);
    if (found == at) return false;
    const BoundSymbol& first = is_merging_ ? kept_[found] : trace_.bound_symbols[found];
    if (!same_expression(first, bound) || must_stay_apart(first, bound)) return false;
    if (group_of_.empty() && !same_tags(first, bound)) return false;
    for (size_t i = 0; i < bound.outputs.size(); ++i)
      if (const int id = proxy_id(bound.outputs[i]); id >= 0) merged_.set(id, first.outputs[i]);
    if (!is_merging_) {
      is_merging_ = true;
      kept_.reserve(trace_.bound_symbols.size());
      for (size_t i = 0; i < position; ++i) kept_.push_back(trace_.bound_symbols[i]);
    }
    kept_[found].forward.add(bound.forward);
    return true;
  }

  // Two results that the user sees as two tensors, or views of two, stay two. A result with a gradient is not merged
  // with an inner value either: the backward may save that one, and the caller may write into the result.
  bool must_stay_apart(const BoundSymbol& a, const BoundSymbol& b) const {
    for (size_t i = 0; i < a.outputs.size(); ++i) {
      const int x = proxy_id(a.outputs[i]), y = proxy_id(b.outputs[i]);
      if (x < 0 || y < 0) continue;
      if (is_returned_[x] && is_returned_[y]) return true;
      if (group_of_.empty() && is_returned_[x] != is_returned_[y] && has_gradient(a.outputs[i])) return true;
    }
    return false;
  }
  static bool has_gradient(const Value& value) { return value.is_tensor() && value.tensor().requires_grad; }

  const Trace& trace_;
  std::span<const int> group_of_;  // by op; empty: the whole trace is one group
  Substitution merged_;
  std::vector<char> is_returned_;  // by id: results, and the bases of views among them
  FirstPositions first_;
  bool is_merging_ = false;  // until then the trace is unchanged
  SharedVector<BoundSymbol> kept_;
};

}  // namespace

/// Computes equal expressions once. Symbols that write or draw are never merged, nor is what is recomputed on purpose
/// with the first time; a symbol merged into another passes on which forward symbols it belongs to.
///
///   t0 = sin(t_0)                      t0 = sin(t_0)
///   t1 = sin(t_0)               ->     t2 = mul(t0, t0)
///   t2 = mul(t0, t1)                   return t2
///   return t2
Trace eliminate_common_subexpressions(const Trace& trace) { return Merging(trace, {}).run().value_or(trace); }

std::optional<Trace> merge_within_groups(const Trace& trace, std::span<const int> group_of) {
  return Merging(trace, group_of).run();
}

}  // namespace fulgurite
