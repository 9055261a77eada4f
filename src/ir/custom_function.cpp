#include "ir/custom_function.h"

#include <algorithm>

#include <fulgurite/symbol.h>

namespace fulgurite {

namespace {

size_t forward_count(const BoundSymbol& bound) {
  const std::span<const BoundSymbol> ops = bound.subsymbols.read();
  if (!is_custom_function(bound)) return ops.size();
  const auto reads_cotangent = [](const BoundSymbol& line) {
    return line.symbol->qualified_name() == "prims.get_grad";
  };
  return static_cast<size_t>(std::ranges::find_if(ops, reads_cotangent) - ops.begin());
}

}  // namespace

bool is_custom_function(const BoundSymbol& bound) { return bound.symbol->qualified_name().starts_with("autograd."); }

std::span<const BoundSymbol> forward_lines(const BoundSymbol& bound) {
  return bound.subsymbols.read().first(forward_count(bound));
}
std::span<const BoundSymbol> backward_lines(const BoundSymbol& bound) {
  return bound.subsymbols.read().subspan(forward_count(bound));
}

bool has_custom_functions(const Trace& trace) {
  return std::ranges::any_of(trace.bound_symbols.read(), is_custom_function);
}

}  // namespace fulgurite
