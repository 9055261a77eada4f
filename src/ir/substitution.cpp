#include "ir/substitution.h"

#include <algorithm>

#include "ir/analysis/uses.h"

namespace fulgurite {

bool Substitution::changes(const Value& value) const {
  bool found = false;
  for_each_proxy(value, [&](int id) { found = found || find(id); });
  return found;
}

Int Substitution::apply(Int n) const {
  if (!n.proxy()) return n;
  const Value* replacement = find(n.proxy()->id);
  return replacement ? replacement->integer() : n;
}

Shape Substitution::apply(const Shape& shape) const {
  Shape out = shape;
  for (Int& size : out) size = apply(size);
  return out;
}

Value Substitution::apply(const Value& value) const {
  if (is_empty_ || !changes(value)) return value;
  if (value.is_list() || value.is_collection()) {
    std::vector<Value> items;
    items.reserve(value.list().size());
    for (const Value& item : value.list()) items.push_back(apply(item));
    return value.is_list() ? Value(std::move(items)) : Value::collection(value.collection_name(), std::move(items));
  }
  if (value.is_slice()) {
    Slice slice = value.slice();
    for (std::optional<Int>* end : {&slice.start, &slice.stop, &slice.step})
      if (*end) *end = apply(**end);
    return Value(slice);
  }
  return *find(proxy_id(value));
}

void Substitution::apply(SharedVector<Value>& values) const {
  for (size_t i = 0; i < values.size(); ++i) {
    const Value& value = values.read()[i];
    if (changes(value)) values.change()[i] = apply(value);
  }
}

bool Substitution::changes(const BoundSymbol& bound) const {
  const auto changes_value = [&](const Value& value) { return changes(value); };
  return std::ranges::any_of(bound.args.read(), changes_value) ||
         std::ranges::any_of(bound.outputs.read(), changes_value) ||
         std::ranges::any_of(bound.kwargs.read(), [&](const auto& argument) { return changes(argument.second); }) ||
         std::ranges::any_of(bound.forward.read(),
                             [&](const ForwardOrigin& origin) { return find(origin.id) != nullptr; }) ||
         std::ranges::any_of(bound.subsymbols.read(), [&](const BoundSymbol& subsymbol) { return changes(subsymbol); });
}

void Substitution::apply(BoundSymbol& bound) const {
  if (is_empty_) return;
  apply(bound.args);
  for (size_t i = 0; i < bound.kwargs.size(); ++i) {
    const Value& value = bound.kwargs.read()[i].second;
    if (changes(value)) bound.kwargs.change()[i].second = apply(value);
  }
  apply(bound.outputs);
  for (size_t i = 0; i < bound.forward.size(); ++i) {
    const Value* replacement = find(bound.forward.read()[i].id);
    if (!replacement || !replacement->is_tensor()) continue;
    ForwardOrigin& origin = bound.forward.change()[i];
    origin.id = replacement->tensor().id;
    origin.result = replacement->tensor().name;
  }
  for (size_t i = 0; i < bound.subsymbols.size(); ++i)
    if (changes(bound.subsymbols.read()[i])) apply(bound.subsymbols.change()[i]);
}

}  // namespace fulgurite
