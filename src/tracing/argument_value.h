#pragma once
#include <utility>
#include <vector>

#include "ops/core/rules.h"

namespace fulgurite {

/// The value of an argument, lists included. `value_of_tensor(tensor)` makes those of tensors.
template <class ValueOfTensor>
Value value_of_argument(const Argument& argument, const ValueOfTensor& value_of_tensor) {
  const auto list_of = [](const auto& items, const auto& value_of_item) {
    std::vector<Value> values;
    for (const auto& item : items) values.push_back(value_of_item(item));
    return Value(std::move(values));
  };
  const auto number = [](const auto& item) { return Value(item); };
  switch (argument.kind()) {
    case Argument::Kind::none: return {};
    case Argument::Kind::tensor: return value_of_tensor(argument.tensor());
    case Argument::Kind::integer: return argument.integer();
    case Argument::Kind::floating: return argument.floating();
    case Argument::Kind::boolean: return argument.boolean();
    case Argument::Kind::string: return argument.string();
    case Argument::Kind::dtype: return argument.dtype();
    case Argument::Kind::device: return argument.device();
    case Argument::Kind::slice: return argument.slice();
    case Argument::Kind::ellipsis: return Ellipsis;
    case Argument::Kind::tensors: return list_of(argument.tensors(), value_of_tensor);
    case Argument::Kind::integers: return list_of(argument.integers(), number);
    case Argument::Kind::floatings: return list_of(argument.floatings(), number);
    case Argument::Kind::list: break;
  }
  return list_of(argument.list(), [&](const Argument& item) { return value_of_argument(item, value_of_tensor); });
}

}  // namespace fulgurite
