#include "transforms/grad/zero_propagation.h"

#include <fulgurite/symbol.h>

#include "ir/analysis/trace_values.h"

namespace fulgurite {

namespace {

bool is_zero_of(Linearity linearity, bool is_first_zero, bool is_second_zero) {
  switch (linearity) {
    case Linearity::unknown: return false;
    case Linearity::first: return is_first_zero;
    case Linearity::sum:
    case Linearity::difference: return is_first_zero && is_second_zero;
    case Linearity::product: return is_first_zero || is_second_zero;
  }
  return false;
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
  const bool is_zero = is_zero_of(bound.symbol->semantics.linearity, first, second);
  if (is_zero) for_each_output(bound, [&](const Value& output) { add(output); });
  return is_zero;
}

}  // namespace fulgurite
