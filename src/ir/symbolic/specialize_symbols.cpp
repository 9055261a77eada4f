#include "ir/symbolic/specialize_symbols.h"

#include <algorithm>

#include <fulgurite/symbol.h>

#include "ir/structural.h"

namespace fulgurite {

namespace {

bool is_number_symbol(const Value& value) { return value.is_proxy() && !value.is_tensor(); }

class Replacement {
 public:
  Replacement(const Trace& trace, SymbolValues& values) : values_(values), tensors_(trace.next_id) {}

  Value replace(const Value& value) {
    switch (value.kind()) {
      case Value::Kind::tensor: return value.has_symbolic_sizes() ? tensor(value) : value;
      case Value::Kind::integer: return value.is_proxy() ? Value(values_.value(value.integer())) : value;
      case Value::Kind::floating: return value.is_proxy() ? Value(values_.value(value.floating())) : value;
      case Value::Kind::boolean: return value.is_proxy() ? Value(values_.value(value.boolean())) : value;
      case Value::Kind::slice: {
        Slice slice = value.slice();
        for (std::optional<Int>* end : {&slice.start, &slice.stop, &slice.step})
          if (*end) *end = values_.value(**end);
        return Value(slice);
      }
      case Value::Kind::list: return Value(items(value, false));
      case Value::Kind::collection: return Value::collection(value.collection_name(), items(value, true));
      default: return value;
    }
  }

  /// Removes the scalars: from collections, and from a function's arguments and results.
  template <class Values>
  std::vector<Value> only_tensors(const Values& from) {
    std::vector<Value> out;
    for (const Value& value : from)
      if (!is_number_symbol(value)) out.push_back(value.is_list() ? Value(items(value, true)) : replace(value));
    return out;
  }

  /// Returns false if the symbol computes only scalars and is no longer needed.
  bool replace(const BoundSymbol& bound, BoundSymbol& out) {
    const auto is_symbol_or_none = [](const Value& v) { return is_number_symbol(v) || v.is_none(); };
    if (!bound.outputs.empty() && std::ranges::any_of(bound.outputs, is_number_symbol) &&
        std::ranges::all_of(bound.outputs, is_symbol_or_none))
      return false;
    out = bound;
    const bool passes_values = is_return(bound) || is_unpack(bound) || is_del(bound);
    if (passes_values) {
      out.args = only_tensors(bound.args);
      out.outputs = only_tensors(bound.outputs);
      for (size_t i = 0; i < bound.kwargs.size(); ++i) {
        const Value& value = bound.kwargs.read()[i].second;
        if (is_number_symbol(value)) continue;
        out.kwargs.change()[i].second = value.is_list() ? Value(items(value, true)) : replace(value);
      }
      return true;
    }
    for (SharedVector<Value>* values : {&out.args, &out.outputs})
      if (std::ranges::any_of(values->read(), changes))
        for (Value& value : values->change()) value = replace(value);
    if (std::ranges::any_of(out.kwargs.read(), [](const auto& kwarg) { return changes(kwarg.second); }))
      for (auto& [key, value] : out.kwargs.change()) value = replace(value);
    if (!bound.subsymbols.empty()) out.subsymbols = replace(bound.subsymbols);
    return true;
  }

  SharedVector<BoundSymbol> replace(const SharedVector<BoundSymbol>& symbols) {
    SharedVector<BoundSymbol> out;
    out.reserve(symbols.size());
    BoundSymbol replaced;
    for (const BoundSymbol& bound : symbols)
      if (replace(bound, replaced)) out.push_back(std::move(replaced));
    return out;
  }

 private:
  static bool changes(const Value& value) {
    bool found = false;
    for_each_leaf(value, [&](const Value& leaf) {
      found = found || leaf.has_symbolic_sizes() || is_number_symbol(leaf) || leaf.is_slice();
    });
    return found;
  }

  std::vector<Value> items(const Value& list, bool without_symbols) {
    if (without_symbols) return only_tensors(list.list());
    std::vector<Value> out;
    for (const Value& item : list.list()) out.push_back(replace(item));
    return out;
  }

  Value tensor(const Value& value) {
    const TensorProxy& old = value.tensor();
    Value* known = old.id >= 0 && static_cast<size_t>(old.id) < tensors_.size() ? &tensors_[old.id] : nullptr;
    if (known && known->is_tensor()) return *known;
    auto* proxy = new TensorProxy(old);
    Shape shape = old.shape;
    for (Int& size : shape) size = values_.value(size);
    proxy->shape = shape;
    proxy->numbers = nullptr;
    Value replaced{detail::Ref<TensorProxy>(proxy)};
    if (known) *known = replaced;
    return replaced;
  }

  SymbolValues& values_;
  std::vector<Value> tensors_;  // by proxy id
};

}  // namespace

bool has_numbers(const Trace& trace) { return trace.numbers && !trace.numbers->empty(); }

Trace specialize_symbols(const Trace& trace, SymbolValues& values, const std::vector<char>& left_out) {
  Replacement replacement(trace, values);
  Trace out = without_symbols(trace);
  out.numbers = nullptr;
  out.args = replacement.only_tensors(trace.args);
  SharedVector<BoundSymbol> symbols = replacement.replace(trace.bound_symbols);
  if (!symbols.empty() && std::as_const(symbols).back().args.size() == left_out.size()) {
    BoundSymbol& last = symbols.back();
    std::vector<Value> results;
    for (size_t i = 0; i < left_out.size(); ++i)
      if (!left_out[i]) results.push_back(last.args.read()[i]);
    last.args = std::move(results);
  }
  out.bound_symbols = std::move(symbols);
  return out;
}

}  // namespace fulgurite
