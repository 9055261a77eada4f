#include "transforms/rematerialization/rematerialization_cost.h"

#include <algorithm>

#include <fulgurite/symbol.h>

#include "ir/analysis/sizes.h"
#include "ir/analysis/uses.h"
#include "ir/custom_function.h"
#include "ir/structural.h"

namespace fulgurite {

namespace {

constexpr int64_t max_rng_state_bytes = 64;  // seed and offset of a draw
constexpr int64_t rng_cost = 4;              // generators compute more than they write
constexpr int64_t call_cost = 8192;          // the overhead of running any symbol, as bytes moved

int64_t bytes_read(const BoundSymbol& bound) {
  std::vector<int> seen;
  int64_t bytes = 0;
  for_each_argument(bound, [&](const Value& value) {
    if (!value.is_tensor() || std::ranges::find(seen, value.tensor().id) != seen.end()) return;
    seen.push_back(value.tensor().id);
    bytes += bytes_of(value);
  });
  return bytes;
}

int64_t bytes_written(const BoundSymbol& bound) {
  int64_t bytes = 0;
  for_each_output(bound, [&](const Value& value) { bytes += bytes_of(value); });
  return bytes;
}

bool is_recomputable_op(const BoundSymbol& bound) {
  const Traits& traits = bound.symbol->traits;
  if (is_shape_query(bound)) return false;  // sizes are saved, not the tensor that has them
  if (has_effect(bound) || traits.matmul) return false;
  if (traits.pointwise || traits.reduction || traits.view || traits.structural) return true;
  if (!bound.subsymbols.empty()) return std::ranges::all_of(forward_lines(bound), is_recomputable_op);
  return bytes_read(bound) <= max_rng_state_bytes;
}

}  // namespace

int64_t copying(const Value& value) { return call_cost + 2 * bytes_of(value); }

int64_t SymbolBySymbolCost::keeping(const Value& value) const { return std::max<int64_t>(bytes_of(value), 1); }

std::optional<int64_t> SymbolBySymbolCost::repeating(const BoundSymbol& bound) const {
  if (!is_recomputable_op(bound)) return {};
  if (bound.symbol->traits.view || bound.symbol->traits.structural) return 0;
  const int64_t read = bytes_read(bound);
  return call_cost + (read + bytes_written(bound)) * (read <= max_rng_state_bytes ? rng_cost : 1);
}

}  // namespace fulgurite
