#include "ir/analysis/operation_count.h"

#include <algorithm>

#include <fulgurite/symbol.h>

#include "ir/analysis/sizes.h"
#include "ir/analysis/trace_values.h"
#include "ir/custom_function.h"
#include "ir/structural.h"

namespace fulgurite {

namespace {

int64_t max_argument_elements(const BoundSymbol& bound) {
  int64_t most = 0;
  for_each_argument(bound, [&](const Value& value) {
    if (value.is_tensor()) most = std::max(most, element_count(value));
  });
  return most;
}

}  // namespace

int64_t operation_count(const BoundSymbol& bound) {
  const Traits& traits = bound.symbol->traits;
  if (traits.structural || traits.view) return 0;
  if (!bound.subsymbols.empty()) {
    int64_t count = 0;
    for (const BoundSymbol& op : forward_lines(bound)) count += operation_count(op);
    return count;
  }
  int64_t results = 0;
  bool is_floating_work = false;
  for_each_output(bound, [&](const Value& value) {
    if (!value.is_tensor()) return;
    results += element_count(value);
    is_floating_work = is_floating_work || is_floating(value.tensor().dtype);
  });
  if (!is_floating_work || is_write(bound)) return 0;
  if (bound.symbol->cost) return bound.symbol->cost(bound);
  return traits.reduction ? max_argument_elements(bound) : results;
}

}  // namespace fulgurite
