#include "transforms/execution/fold_scatter_add.h"

#include <algorithm>

#include <fulgurite/symbol.h>

#include "executors/registry.h"
#include "ir/analysis/sizes.h"
#include "ir/analysis/trace_values.h"
#include "ir/analysis/uses.h"
#include "transforms/execution/plain_sum.h"

namespace fulgurite {

namespace {

/// Rewrites ops of a trace.
class ScatterFolder {
 public:
  ScatterFolder(const Trace& trace, int64_t min_bytes) : trace_(trace), uses_(trace) {
    const auto ops = static_cast<int>(trace.bound_symbols.size());
    is_dropped_.resize(static_cast<size_t>(ops));
    replaced_.resize(static_cast<size_t>(ops));
    for (int i = 0; i < ops; ++i)
      if (is_sum(op(i)) && bytes_of(op(i).outputs.at(0).tensor()) >= min_bytes) look_at(i);
  }

  bool is_empty() const {
    return std::ranges::none_of(is_dropped_, [](char dropped) { return dropped != 0; });
  }

  Trace run() const {
    Trace out = without_symbols(trace_);
    for (size_t i = 0; i < is_dropped_.size(); ++i)
      if (!is_dropped_[i])
        out.bound_symbols.push_back(replaced_[i].symbol ? replaced_[i] : trace_.bound_symbols.read()[i]);
    return out;
  }

 private:
  const BoundSymbol& op(int i) const { return trace_.bound_symbols.read()[static_cast<size_t>(i)]; }

  static bool is_eager(const BoundSymbol& bound) {
    return bound.implementation && bound.implementation->executor == "eager";
  }

  // A sum that only the eager executor has claimed.
  static bool is_sum(const BoundSymbol& bound) {
    return bound.implementation && !bound.implementation->user && is_plain_sum(bound);
  }

  bool makes_zeros(const Value& value) const {
    const int made = uses_.producer(value.tensor().id);
    if (made < 0) return false;
    const BoundSymbol& bound = op(made);
    const Fill fill = bound.symbol->semantics.fill;
    if (fill == Fill::zero) return true;
    return fill == Fill::second_argument && bound.args.size() > 1 && is_number(bound.args.read()[1], 0);
  }

  // An op that scatters into zeros, as one that scatters into `sum`; without a symbol if it is not one.
  BoundSymbol into(const Value& sum, const BoundSymbol& scatter) const {
    const Symbol& symbol = *scatter.symbol;
    const std::span<const Value> args = scatter.args.read();
    BoundSymbol out;
    if (symbol.accumulate && (!symbol.semantics.scatter_update || makes_zeros(args[0])))
      symbol.accumulate(args, sum, out);
    return out;
  }

  void look_at(int sum) {
    const BoundSymbol& bound = op(sum);
    for (const size_t side : {1, 0}) {
      const Value &scattered = bound.args.read()[side], &other = bound.args.read()[1 - side];
      const int made = uses_.producer(scattered.tensor().id);
      if (made < 0 || uses_.producer(other.tensor().id) < 0 || uses_.consumers(scattered.tensor().id).size() != 1 ||
          !is_eager(op(made)))
        continue;
      BoundSymbol in_place = into(other, op(made));
      if (!in_place.symbol) continue;
      in_place.outputs = bound.outputs;
      in_place.tags = bound.tags;
      in_place.sequence = bound.sequence;
      in_place.source = bound.source;
      in_place.forward = bound.forward;
      in_place.implementation = find_eager_implementation(*in_place.symbol);
      replaced_[static_cast<size_t>(sum)] = std::move(in_place);
      is_dropped_[static_cast<size_t>(made)] = true;
      return;
    }
  }

  const Trace& trace_;
  const Uses uses_;
  std::vector<char> is_dropped_;       // by op
  std::vector<BoundSymbol> replaced_;  // by op; without a symbol if unchanged
};

}  // namespace

Trace fold_scatter_add(const Trace& trace, int64_t min_bytes) { return ScatterFolder(trace, min_bytes).run(); }
bool has_scattered_sums(const Trace& trace, int64_t min_bytes) {
  const auto scatters = [](const BoundSymbol& bound) { return bound.symbol->accumulate != nullptr; };
  return std::ranges::any_of(trace.bound_symbols.read(), scatters) && !ScatterFolder(trace, min_bytes).is_empty();
}

}  // namespace fulgurite
