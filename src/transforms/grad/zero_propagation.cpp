#include "transforms/grad/zero_propagation.h"

#include <algorithm>

#include "ir/analysis/trace_values.h"
#include "ops/generated/symbols.h"

namespace fulgurite {

namespace {

// Zero if their first argument is.
bool is_linear_in_first(const Symbol& symbol) {
  static constexpr const Symbol* linear[] = {&neg_symbol,
                                             &sum_symbol,
                                             &reshape_symbol,
                                             &permute_symbol,
                                             &transpose_symbol,
                                             &squeeze_symbol,
                                             &unsqueeze_symbol,
                                             &expand_symbol,
                                             &div_symbol,
                                             &clone_symbol,
                                             &prims_convert_element_type_symbol};
  return std::ranges::find(linear, &symbol) != std::end(linear);
}

}  // namespace

void ZeroValues::add(const Value& value) {
  const auto id = static_cast<size_t>(proxy_id(value));
  if (id >= is_zero_.size()) is_zero_.resize(id + 1 + id / 2);
  is_zero_[id] = true;
}

void ZeroValues::remove(const Value& value) { is_zero_[proxy_id(value)] = false; }

bool ZeroValues::has(const Value& value) const {
  const int id = proxy_id(value);
  return id >= 0 && static_cast<size_t>(id) < is_zero_.size() && is_zero_[id];
}

bool ZeroValues::is_used_by(const BoundSymbol& bound) const {
  bool found = false;
  for_each_argument(bound, [&](const Value& value) { found = found || has(value); });
  return found;
}

bool ZeroValues::pass_through(const BoundSymbol& bound) {
  if (bound.args.empty()) return false;
  const bool first = has(bound.args[0]), second = bound.args.size() > 1 && has(bound.args[1]);
  const bool is_sum = bound.symbol == &add_symbol || bound.symbol == &sub_symbol;
  const bool is_zero = bound.symbol == &mul_symbol ? first || second
                       : is_sum                    ? first && second
                                                   : first && is_linear_in_first(*bound.symbol);
  if (is_zero) for_each_output(bound, [&](const Value& output) { add(output); });
  return is_zero;
}

}  // namespace fulgurite
