#include <algorithm>

#include <fulgurite/error.h>
#include <fulgurite/symbol.h>

#include "ir/analysis/trace_values.h"

namespace fulgurite {

std::string BoundSymbol::name() const { return std::string(symbol->name()); }

// A fusion is the only call whose name has no namespace: its definition is printed above its caller.
bool BoundSymbol::is_fusion() const {
  return symbol->qualified_name().find_first_of(".:") == std::string_view::npos && !subsymbols.empty();
}

std::vector<Value> BoundSymbol::flat_args() const {
  std::vector<Value> out;
  for_each_argument(*this, [&](const Value& value) { out.push_back(value); });
  return out;
}

std::vector<Value> BoundSymbol::flat_outs() const {
  std::vector<Value> out;
  for_each_output(*this, [&](const Value& value) { out.push_back(value); });
  return out;
}

void ForwardOrigins::add(const ForwardOrigins& more) {
  if (empty()) {
    *this = more;
    return;
  }
  for (const ForwardOrigin& origin : more)
    if (std::ranges::find(read(), origin) == read().end()) push_back(origin);
}

ForwardOrigins BoundSymbol::forward_origins() const {
  ForwardOrigins out = forward;
  if (is_fusion())
    for (const BoundSymbol& fused : subsymbols) out.add(fused.forward_origins());
  return out;
}

}  // namespace fulgurite
