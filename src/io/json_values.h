#pragma once
#include <functional>

#include <fulgurite/value.h>

#include "io/json.h"

namespace fulgurite::json {

/// An operator's argument; what an object stands for (a tensor, a dtype, a slice) `of_object` knows, also inside arrays.
Value to_value(const Node&, const std::function<Value(const Node& object)>& of_object);

}  // namespace fulgurite::json
