#pragma once
#include <fulgurite/trace.h>

namespace fulgurite {

/// Returns true if the op adds two different tensors of f32 or f64, both of the result's shape and dtype, without a
/// factor: a sum whose terms may be added in another order. Narrower dtypes would be rounded at each addition.
bool is_plain_sum(const BoundSymbol&);

/// Returns true for a number of a program that has this value.
bool is_number(const Value&, double number);

}  // namespace fulgurite
