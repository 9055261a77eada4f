#include "executors/fuser/decompose_nll_loss.h"

#include <algorithm>

#include <fulgurite/symbol.h>

#include "codegen/lowering/lower_group.h"
#include "ir/analysis/trace_values.h"
#include "ops/generated/symbols.h"

namespace fulgurite::fuser {

namespace {

void open(const BoundSymbol& bound, const BoundSymbol& parent, const Implementation& candidate,
          SharedVector<BoundSymbol>& out) {
  const bool is_taken = codegen::has_expression(bound) || codegen::is_nll_loss_op(bound);
  if (!is_taken && !bound.subsymbols.empty()) {
    for (const BoundSymbol& subsymbol : bound.subsymbols) open(subsymbol, parent, candidate, out);
    return;
  }
  BoundSymbol op = bound;
  if (op.source.line == 0) op.source = parent.source;
  if (op.forward.empty()) op.forward = parent.forward;
  op.tags.add(parent.tags);
  if (is_taken && !op.symbol->traits.view) op.implementation = &candidate;
  out.push_back(std::move(op));
}

}  // namespace

bool is_class_loss(const BoundSymbol& bound) {
  if (!bound.symbol->semantics.class_loss) return false;
  const bool is_plain = bound.args.size() < 3 || bound.args.read()[2].is_none();
  return is_plain && bound.args.at(1).tensor().shape.size() == 1 &&
         bound.outputs.at(0).tensor().dtype != Dtype::boolean;
}

Trace decompose_nll_loss(const Trace& trace, const Implementation& candidate) {
  const auto is_opened = [&](const BoundSymbol& bound) {
    return bound.implementation == &candidate && is_class_loss(bound);
  };
  if (std::ranges::none_of(trace.bound_symbols, is_opened)) return trace;
  Trace out = without_symbols(trace);
  for (const BoundSymbol& bound : trace.bound_symbols) {
    if (!is_opened(bound)) {
      out.bound_symbols.push_back(bound);
      continue;
    }
    for (const BoundSymbol& subsymbol : bound.subsymbols) open(subsymbol, bound, candidate, out.bound_symbols);
  }
  return out;
}

}  // namespace fulgurite::fuser
