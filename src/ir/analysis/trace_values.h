#pragma once
#include <fulgurite/trace.h>

namespace fulgurite {

/// Returns the inputs of a trace in order: its args with collections and lists flattened; none for an unused input.
std::vector<Value> input_values(const Trace&);
/// Returns the results of a trace in order, lists flattened. For an augmented forward: the outputs, then C0, then C1;
/// for a joint trace: the gradients, then the forward's outputs.
std::vector<Value> returned_values(const Trace&);
/// Returns a copy of the trace without its symbols: the start of a pass that rebuilds them.
Trace without_symbols(const Trace&);
/// Returns a keyword argument of a bound symbol; throws InternalError if it is missing.
const Value& keyword(const BoundSymbol&, std::string_view name);

/// Calls visit(const Value&) for each value in a nest of lists and collections.
template <class Visit>
void for_each_leaf(const Value& value, Visit&& visit) {
  if (value.is_list() || value.is_collection()) {
    for (const Value& item : value.list()) for_each_leaf(item, visit);
  } else {
    visit(value);
  }
}
/// Every leaf among the args and kwargs, in order.
template <class Visit>
void for_each_argument(const BoundSymbol& bound, Visit&& visit) {
  for (const Value& value : bound.args) for_each_leaf(value, visit);
  for (const auto& [name, value] : bound.kwargs) for_each_leaf(value, visit);
}
template <class Visit>
void for_each_output(const BoundSymbol& bound, Visit&& visit) {
  for (const Value& value : bound.outputs) for_each_leaf(value, visit);
}

/// The id of a tensor or number proxy; -1 for anything else.
inline int proxy_id(const Value& value) { return value.proxy_id(); }

/// The name of a proxy or a collection; `_` for any other value.
inline const std::string& proxy_name(const Value& value) {
  static const std::string none = "_";
  if (value.is_tensor()) return value.tensor().name;
  if (value.is_collection()) return value.collection_name();
  if (!value.is_proxy()) return none;
  if (value.is_int()) return value.integer().proxy()->name;
  return value.is_float() ? value.floating().proxy()->name : value.boolean().proxy()->name;
}

}  // namespace fulgurite
