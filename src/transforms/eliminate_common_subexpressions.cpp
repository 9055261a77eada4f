#include <algorithm>
#include <unordered_map>

#include <fulgurite/symbol.h>

#include "ir/substitution.h"
#include "ir/uses.h"

namespace fulgurite {

namespace {

size_t hash_of(const BoundSymbol& bound) {
  size_t hash = std::hash<const Symbol*>()(bound.symbol);
  const auto mix = [&](size_t more) { hash = (hash ^ more) * 0x9E3779B97F4A7C15u + (hash >> 29); };
  mix(bound.tags.has(Tag::recomputed));
  for (const Value& value : bound.args) mix(value.hash());
  for (const auto& [name, value] : bound.kwargs) mix(value.hash());
  return hash;
}

// Arithmetic on sizes is structural and stays: the sizes in types refer to its results.
bool may_merge(const BoundSymbol& bound) { return !has_effect(bound) && !bound.symbol->traits.structural; }

bool same_results(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  if (!a.is_tensor()) return true;
  const TensorProxy& x = a.tensor();
  const TensorProxy& y = b.tensor();
  return x.requires_grad == y.requires_grad && x.tags == y.tags;
}

bool same_expression(const BoundSymbol& a, const BoundSymbol& b) {
  return a.symbol == b.symbol && a.tags == b.tags && a.implementation == b.implementation && a.args == b.args &&
         a.kwargs == b.kwargs && std::ranges::equal(a.outputs, b.outputs, same_results);
}

class Merging {
 public:
  explicit Merging(const Trace& trace) : trace_(trace), merged_(trace.next_id), is_returned_(trace.next_id, false) {
    if (!trace.bound_symbols.empty())
      for_each_use(trace.bound_symbols.back(), [&](int id) { is_returned_[id] = true; });
  }

  Trace run() {
    Trace out = without_symbols(trace_);
    out.bound_symbols.reserve(trace_.bound_symbols.size());
    first_of_.reserve(trace_.bound_symbols.size());
    for (const BoundSymbol& original : trace_.bound_symbols) {
      BoundSymbol bound = original;
      merged_.apply(bound);
      if (may_merge(bound) && merge(bound, out.bound_symbols)) continue;
      out.bound_symbols.push_back(std::move(bound));
    }
    return out;
  }

 private:
  bool merge(const BoundSymbol& bound, std::vector<BoundSymbol>& kept) {
    const auto [at, is_first] = first_of_.try_emplace(hash_of(bound), kept.size());
    if (is_first) return false;
    BoundSymbol& first = kept[at->second];
    if (!same_expression(first, bound) || both_returned(first, bound)) return false;
    for (size_t i = 0; i < bound.outputs.size(); ++i)
      if (const int id = proxy_id(bound.outputs[i]); id >= 0) merged_.set(id, first.outputs[i]);
    first.forward.add(bound.forward);
    return true;
  }

  // Two results that the user sees as two tensors stay two.
  bool both_returned(const BoundSymbol& a, const BoundSymbol& b) const {
    for (size_t i = 0; i < a.outputs.size(); ++i) {
      const int x = proxy_id(a.outputs[i]), y = proxy_id(b.outputs[i]);
      if (x >= 0 && y >= 0 && is_returned_[x] && is_returned_[y]) return true;
    }
    return false;
  }

  const Trace& trace_;
  Substitution merged_;
  std::vector<char> is_returned_;  // by id
  std::unordered_map<size_t, size_t> first_of_;  // hash -> position among the kept
};

}  // namespace

/// Computes equal expressions once. Symbols that write or draw are never merged, nor is what is made again on purpose with the first
/// time; a symbol merged into another passes on which forward symbols it belongs to.
///
///   t0 = sin(t_0)                      t0 = sin(t_0)
///   t1 = sin(t_0)               ->     t2 = mul(t0, t0)
///   t2 = mul(t0, t1)                   return t2
///   return t2
Trace eliminate_common_subexpressions(const Trace& trace) { return Merging(trace).run(); }

}  // namespace fulgurite
