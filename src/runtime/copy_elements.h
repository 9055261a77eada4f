#pragma once
#include <fulgurite/tensor.h>

namespace fulgurite {

/// Copies `source` (any strides and dtype, broadcast to the destination's sizes) into `destination` (any strides and
/// dtype). If the two overlap in memory, the result is as if `source` had been copied away first.
/// Defined in executors/eager/.
void copy_elements(const Tensor& source, const Tensor& destination);

}  // namespace fulgurite
