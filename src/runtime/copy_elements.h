#pragma once
#include <fulgurite/tensor.h>

namespace fulgurite {

/// Writes `source` (any strides, any dtype, broadcast to the destination's sizes) into `destination` (any strides, any
/// dtype). Where the two overlap in memory the result is as if `source` had been copied away first.
/// Defined in executors/eager/.
void copy_elements(const Tensor& source, const Tensor& destination);

}  // namespace fulgurite
