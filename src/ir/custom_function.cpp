#include "ir/custom_function.h"

#include <algorithm>

#include <fulgurite/symbol.h>

namespace fulgurite {

namespace {

size_t forward_count(const BoundSymbol& bound) {
  const std::span<const BoundSymbol> ops = bound.subsymbols.read();
  if (!is_custom_function(bound)) return ops.size();
  return static_cast<size_t>(std::ranges::find_if(ops, is_get_grad) - ops.begin());
}

}  // namespace

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
