#include "ir/analysis/view_roots.h"

#include <fulgurite/symbol.h>

#include "ir/analysis/trace_values.h"

namespace fulgurite {

namespace {

void find_roots(const BoundSymbol& bound, std::vector<int>& roots) {
  for (const BoundSymbol& subsymbol : bound.subsymbols) find_roots(subsymbol, roots);
  if (!bound.symbol->traits.view || bound.args.empty() || !bound.args[0].is_tensor()) return;
  const int viewed = roots[bound.args[0].proxy_id()];
  for_each_output(bound, [&](const Value& output) {
    if (output.is_tensor()) roots[output.proxy_id()] = viewed;
  });
}

}  // namespace

std::vector<int> view_roots(std::span<const BoundSymbol> symbols, int next_id) {
  std::vector<int> roots(next_id);
  for (int id = 0; id < next_id; ++id) roots[id] = id;
  for (const BoundSymbol& bound : symbols) find_roots(bound, roots);
  return roots;
}

}  // namespace fulgurite
