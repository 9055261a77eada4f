#pragma once
#include <functional>

#include <fulgurite/value.h>

#include "io/json.h"

namespace fulgurite::json {

/// Converts a node to an operator's argument; `of_object` converts objects (a tensor, a dtype, a slice), also inside
/// arrays.
Value to_value(const Node&, const std::function<Value(const Node& object)>& of_object);

}  // namespace fulgurite::json
