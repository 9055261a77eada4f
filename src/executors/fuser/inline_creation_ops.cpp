#include "executors/fuser/inline_creation_ops.h"

#include <algorithm>

#include <fulgurite/symbol.h>

#include "executors/registry.h"
#include "ir/analysis/trace_values.h"
#include "ops/generated/symbols.h"

namespace fulgurite::fuser {

namespace {

bool reads_sizes_alone(const BoundSymbol& bound) {
  bool has_tensor = false;
  for_each_argument(bound, [&](const Value& argument) { has_tensor = has_tensor || argument.is_tensor(); });
  const auto is_constant = [](const BoundSymbol& subsymbol) {
    return subsymbol.symbol->is_primitive() && subsymbol.symbol->semantics.fill == Fill::second_argument;
  };
  return has_tensor && bound.implementation && bound.implementation->executor == "eager" &&
         bound.subsymbols.size() == 1 && std::ranges::all_of(bound.subsymbols, is_constant);
}

}  // namespace

Trace inline_creation_ops(const Trace& trace) {
  if (std::ranges::none_of(trace.bound_symbols, reads_sizes_alone)) return trace;
  Trace out = without_symbols(trace);
  for (const BoundSymbol& bound : trace.bound_symbols) {
    if (!reads_sizes_alone(bound)) {
      out.bound_symbols.push_back(bound);
      continue;
    }
    BoundSymbol op = bound.subsymbols.read()[0];
    op.source = bound.source;
    op.forward = bound.forward;
    op.tags.add(bound.tags);
    op.implementation = find_eager_implementation(*op.symbol);
    out.bound_symbols.push_back(std::move(op));
  }
  return out;
}

}  // namespace fulgurite::fuser
