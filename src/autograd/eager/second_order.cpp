#include "autograd/eager/second_order.h"

#include <algorithm>

#include <fulgurite/error.h>

#include "ir/analysis/effects.h"
#include "ir/analysis/trace_values.h"
#include "ir/structural.h"
#include "support/text/text.h"

namespace fulgurite {

Trace backward_from_inputs(const Trace& augmented_forward, const Trace& backward) {
  Trace out;
  out.name = "backward_from_inputs";
  out.next_id = std::max(augmented_forward.next_id, backward.next_id);
  out.next_name = std::max(augmented_forward.next_name, backward.next_name);
  out.numbers = backward.numbers;

  const std::vector<Value> inputs = input_values(augmented_forward);
  const std::vector<Value> backward_inputs = input_values(backward);
  std::vector<char> is_given(out.next_id), is_needed(out.next_id);
  const auto give = [&](const Value& value) {
    out.args.push_back(value);
    if (const int id = proxy_id(value); id >= 0) is_given[id] = true;
  };
  std::for_each(inputs.begin(), inputs.end(), give);
  for (const Value& value : backward_inputs) {
    const int id = proxy_id(value);
    const bool is_input = id >= 0 && is_given[id];  // has its history, from above
    const bool is_recomputed = value.is_tensor() && value.tensor().requires_grad;
    if (is_input || is_recomputed) out.args.emplace_back();
    else give(value);
  }

  // Keeps the ops that the gradients need, from the end; all else, side effects included, happened in the forward.
  std::vector<const BoundSymbol*> kept;
  const auto need = [&](const Value& value) {
    if (const int id = proxy_id(value); id >= 0 && !is_given[id]) is_needed[id] = true;
  };
  const auto walk = [&](const Trace& trace) {
    for (size_t i = trace.bound_symbols.size(); i-- > 0;) {
      const BoundSymbol& bound = trace.bound_symbols[i];
      if (is_return(bound) || is_del(bound) || is_unpack(bound)) continue;
      bool makes_needed = false;
      for_each_output(bound, [&](const Value& v) {
        const int id = proxy_id(v);
        makes_needed = makes_needed || (id >= 0 && is_needed[id]);
      });
      if (!makes_needed) continue;
      if (draws_numbers(*bound.symbol))
        throw UserError(text::cat("a second differentiation would draw ", bound.name(),
                                  " again: differentiate the eager function, or draw outside the compiled one"),
                        bound.source);
      for_each_argument(bound, need);
      kept.push_back(&bound);
    }
  };
  for (const Value& gradient : returned_values(backward)) need(gradient);
  walk(backward);
  walk(augmented_forward);
  std::reverse(kept.begin(), kept.end());
  for (const BoundSymbol* bound : kept) out.bound_symbols.push_back(*bound);
  out.bound_symbols.push_back(backward.bound_symbols.back());
  return out;
}

}  // namespace fulgurite
