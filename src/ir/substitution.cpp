#include "ir/substitution.h"

#include "ir/uses.h"

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

void Substitution::apply(BoundSymbol& bound) const {
  if (is_empty_) return;
  for (Value& value : bound.args) value = apply(value);
  for (auto& [name, value] : bound.kwargs) value = apply(value);
  for (Value& value : bound.outputs) value = apply(value);
  for (size_t i = 0; i < bound.forward.size(); ++i) {
    const int id = bound.forward[i].id;
    if (id >= static_cast<int>(replacements_.size())) continue;
    const Value* replacement = find(id);
    if (!replacement || !replacement->is_tensor()) continue;
    ForwardOrigin& origin = bound.forward.change()[i];
    origin.id = replacement->tensor().id;
    origin.result = replacement->tensor().name;
  }
  for (BoundSymbol& subsymbol : bound.subsymbols) apply(subsymbol);
}

}  // namespace fulgurite
