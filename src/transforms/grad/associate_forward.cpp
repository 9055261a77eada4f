#include "transforms/grad/associate_forward.h"

#include <fulgurite/symbol.h>

#include "ir/analysis/trace_values.h"
#include "ops/generated/symbols.h"

namespace fulgurite {

namespace {

// An op's first result, which identifies the op; none for an op without results.
Value first_result(const BoundSymbol& bound) {
  Value first;
  for_each_output(bound, [&](const Value& output) {
    if (proxy_id(first) < 0 && proxy_id(output) >= 0) first = output;
  });
  return first;
}

// The printed ops of a trace, by the ids of their results.
class PrintedOps {
 public:
  explicit PrintedOps(const Trace& trace) : ops_(trace.next_id) {
    for (const BoundSymbol& bound : trace.bound_symbols) add(bound, {});
  }

  void rename(BoundSymbol& bound) const {
    for (size_t i = 0; i < bound.forward.size(); ++i) {
      const int id = bound.forward[i].id;
      if (id < 0 || id >= static_cast<int>(ops_.size())) continue;
      const ForwardLink& op = ops_[id];
      if (!op.bound) continue;
      ForwardOrigin& origin = bound.forward.change()[i];
      origin.result = proxy_name(first_result(*op.bound));
      origin.symbol = op.bound->symbol->qualified_name();
      origin.fusion = op.fusion;
    }
    for (BoundSymbol& subsymbol : bound.subsymbols) rename(subsymbol);
  }

 private:
  struct ForwardLink {
    const BoundSymbol* bound = nullptr;
    std::string_view fusion;
  };

  void add(const BoundSymbol& bound, std::string_view fusion) {
    if (bound.is_fusion()) {
      for (const BoundSymbol& fused : bound.subsymbols) add(fused, bound.symbol->qualified_name());
      return;
    }
    claim(bound, {&bound, fusion});
    for (const BoundSymbol& subsymbol : bound.subsymbols) add_inside(subsymbol, {&bound, fusion});
  }
  // A composite that prints as one op represents the ops inside it.
  void add_inside(const BoundSymbol& bound, const ForwardLink& op) {
    claim(bound, op);
    for (const BoundSymbol& subsymbol : bound.subsymbols) add_inside(subsymbol, op);
  }
  void claim(const BoundSymbol& bound, const ForwardLink& op) {
    for_each_output(bound, [&](const Value& output) {
      const int id = proxy_id(output);
      if (id >= 0 && id < static_cast<int>(ops_.size()) && !ops_[id].bound) ops_[id] = op;
    });
  }

  std::vector<ForwardLink> ops_;  // by id
};

}  // namespace

ForwardOrigin recomputation_of(const BoundSymbol& bound) {
  const Value result = first_result(bound);
  if (proxy_id(result) < 0) return {};
  return {proxy_id(result), proxy_name(result), std::string(bound.symbol->qualified_name()),
          ForwardOrigin::Part::recomputation};
}

void name_forward_ops(std::vector<Trace>& stages, const Trace& forward) {
  const PrintedOps ops(forward);
  for (Trace& stage : stages)
    for (BoundSymbol& bound : stage.bound_symbols) ops.rename(bound);
}

}  // namespace fulgurite
