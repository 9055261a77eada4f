#pragma once
#include <cstdint>

#include <fulgurite/dtype.h>

namespace fulgurite {

// One element of any dtype, for the slow paths: printing, item(), making tensors from braces. Kernels are typed instead.

/// Booleans and integers as numbers.
double read_floating(const void* element, Dtype);
/// Floating values are cut toward zero.
int64_t read_integer(const void* element, Dtype);
/// As C++ converts; a boolean is whether the value is not zero.
void write_floating(void* element, Dtype, double value);
void write_integer(void* element, Dtype, int64_t value);

}  // namespace fulgurite
