#include "transforms/grad/joint_trace.h"

#include <fulgurite/error.h>
#include <fulgurite/symbol.h>

#include "ir/analysis/uses.h"
#include "ir/structural.h"

namespace fulgurite {

std::vector<char> find_forward(const Trace& joint) {
  if (!joint.tags.has(Tag::joint)) throw InternalError("only a joint trace has a forward and a backward part");
  std::vector<char> is_forward(joint.bound_symbols.size(), false), is_needed(joint.next_id, false);
  const auto need = [&](const Value& value) { for_each_proxy(value, [&](int id) { is_needed[id] = true; }); };
  const BoundSymbol& last = joint.bound_symbols.back();
  need(keyword(last, "fw_flat_out"));
  need(keyword(last, "flat_args"));
  for (size_t i = joint.bound_symbols.size() - 1; i-- > 0;) {
    const BoundSymbol& bound = joint.bound_symbols[i];
    if (is_get_grad(bound)) continue;
    const bool is_effect = bound.forward.empty() && !bound.symbol->traits.effects.empty();
    bool belongs = is_effect;
    for_each_output(bound, [&](const Value& value) {
      if (const int id = proxy_id(value); id >= 0) belongs = belongs || is_needed[id];
    });
    if (!belongs) continue;
    is_forward[i] = true;
    for_each_use(bound, [&](int id) { is_needed[id] = true; });
    for_each_output(bound, need);
  }
  return is_forward;
}

bool is_recomputable(const BoundSymbol& bound) { return !has_effect(bound); }

}  // namespace fulgurite
