#include "executors/fusion/local_cse.h"

#include <algorithm>

#include "ir/analysis/trace_values.h"
#include "ir/analysis/uses.h"
#include "ir/analysis/view_roots.h"
#include "ir/custom_function.h"
#include "ir/substitution.h"

namespace fulgurite::fuser {

namespace {

bool is_same(const BoundSymbol& a, const BoundSymbol& b) {
  return a.symbol == b.symbol && a.args == b.args && a.kwargs == b.kwargs && a.outputs.size() == b.outputs.size();
}

class LocalCse {
 public:
  explicit LocalCse(const Trace& trace)
      : trace_(trace),
        first_of_(trace.bound_symbols.size(), -1),
        instead_(trace.next_id),
        is_returned_(static_cast<size_t>(trace.next_id)) {
    const std::vector<int> roots = view_roots(trace.bound_symbols.read(), trace.next_id);
    for (const Value& value : returned_values(trace)) {
      if (!value.is_tensor()) continue;
      const auto id = static_cast<size_t>(value.tensor().id);
      is_returned_[id] = is_returned_[static_cast<size_t>(roots[id])] = true;
    }
  }

  void find(const std::vector<int>& ops) {
    std::vector<BoundSymbol> known;  // the first occurrences, after substitution
    std::vector<int> known_ops;
    for (const int op : ops) {
      BoundSymbol bound = trace_.bound_symbols[op];
      if (has_effect(bound) || is_custom_function(bound)) continue;
      if (!instead_.is_empty()) instead_.apply(bound);
      const auto twin = std::ranges::find_if(
          known, [&](const BoundSymbol& other) { return is_same(other, bound) && !are_both_returned(other, bound); });
      if (twin == known.end()) {
        known.push_back(std::move(bound));
        known_ops.push_back(op);
        continue;
      }
      first_of_[static_cast<size_t>(op)] = known_ops[static_cast<size_t>(twin - known.begin())];
      for (size_t i = 0; i < bound.outputs.size(); ++i)
        if (const int id = proxy_id(bound.outputs.read()[i]); id >= 0) instead_.set(id, twin->outputs.read()[i]);
    }
  }

  std::optional<Trace> merged() const {
    if (instead_.is_empty()) return std::nullopt;
    Trace out = without_symbols(trace_);
    std::vector<size_t> at(trace_.bound_symbols.size());
    for (size_t op = 0; op < trace_.bound_symbols.size(); ++op) {
      BoundSymbol bound = trace_.bound_symbols[op];
      if (const int first = first_of_[op]; first >= 0) {
        out.bound_symbols[at[static_cast<size_t>(first)]].forward.add(bound.forward);
        continue;
      }
      instead_.apply(bound);
      at[op] = out.bound_symbols.size();
      out.bound_symbols.push_back(std::move(bound));
    }
    return out;
  }

 private:
  // Two results that the caller sees as two tensors, or views of two, stay two.
  bool are_both_returned(const BoundSymbol& a, const BoundSymbol& b) const {
    const auto is_returned = [&](const Value& value) {
      return value.is_tensor() && is_returned_[static_cast<size_t>(value.tensor().id)];
    };
    return std::ranges::any_of(a.outputs.read(), is_returned) && std::ranges::any_of(b.outputs.read(), is_returned);
  }

  const Trace& trace_;
  std::vector<int> first_of_;  // by op: the earlier op that it duplicates; -1: none
  Substitution instead_;
  std::vector<char> is_returned_;  // by id: a result, or the base of one
};

}  // namespace

std::optional<Trace> local_cse(const Trace& trace, const FusionGroups& groups) {
  LocalCse repeats(trace);
  for (const FusionGroup& group : groups.groups) repeats.find(group.ops);
  return repeats.merged();
}

}  // namespace fulgurite::fuser
