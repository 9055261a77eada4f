#pragma once
#include <cstdint>

#include <fulgurite/dtype.h>

namespace fulgurite {

// Access to one element of any dtype, for the slow paths: printing, item(), tensors from braces. Kernels are typed
// instead.

/// Booleans and integers as numbers.
double read_floating(const void* element, Dtype);
/// Floating values are truncated toward zero.
int64_t read_integer(const void* element, Dtype);
/// Converts as C++ does; a boolean is true if the value is not zero.
void write_floating(void* element, Dtype, double value);
void write_integer(void* element, Dtype, int64_t value);

}  // namespace fulgurite
