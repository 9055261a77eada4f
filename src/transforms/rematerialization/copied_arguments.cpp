#include "transforms/rematerialization/copied_arguments.h"

#include "ir/substitution.h"
#include "ir/analysis/trace_values.h"
#include "ops/generated/symbols.h"
#include "support/text/text.h"

namespace fulgurite {

namespace {

BoundSymbol clone_of(const Value& argument, Trace& trace) {
  auto* copy = new TensorProxy(argument.tensor());
  copy->id = trace.next_id++;
  copy->name = text::cat("t", trace.next_name++);
  BoundSymbol clone;
  clone.symbol = &clone_symbol;
  clone.args = {argument};
  clone.outputs = {Value{detail::Ref<TensorProxy>(copy)}};
  return clone;
}

}  // namespace

void copy_repeated_arguments(Trace& joint, const std::vector<char>& is_copied) {
  std::vector<BoundSymbol> ops;
  Substitution copies(joint.next_id);
  for (BoundSymbol& bound : joint.bound_symbols) {
    if (bound.tags.has(Tag::recompute_in_backward)) {
      for_each_argument(bound, [&](const Value& value) {
        const int id = value.is_tensor() ? value.proxy_id() : -1;
        if (id < 0 || id >= static_cast<int>(is_copied.size()) || !is_copied[id] || copies.find(id) != nullptr) return;
        ops.push_back(clone_of(value, joint));
        copies.set(id, ops.back().outputs.read()[0]);
      });
      if (!copies.is_empty()) copies.apply(bound);
    }
    ops.push_back(std::move(bound));
  }
  joint.bound_symbols = std::move(ops);
}

}  // namespace fulgurite
