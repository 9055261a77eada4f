#pragma once
#include <cstdint>

#include <fulgurite/trace.h>

namespace fulgurite {

/// Returns the number of elements of a tensor; a symbolic size counts as its hint.
int64_t element_count(const TensorProxy&);
/// The same for a value that is a tensor; 1 for any other.
int64_t element_count(const Value&);

/// Returns the bytes of a tensor's elements, were they contiguous.
int64_t bytes_of(const TensorProxy&);
/// The same for a value that is a tensor; 8 for a number that is computed, 0 for a constant.
int64_t bytes_of(const Value&);

}  // namespace fulgurite
