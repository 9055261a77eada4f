#include "transforms/cleanup/keep_results.h"

namespace fulgurite {

Trace keep_results(const Trace& trace, const std::vector<int>& kept) {
  Trace out = trace;
  std::vector<Value> results;
  for (const int result : kept) results.push_back(out.bound_symbols.read().back().args[static_cast<size_t>(result)]);
  out.bound_symbols.back().args = std::move(results);
  return out;
}

}  // namespace fulgurite
