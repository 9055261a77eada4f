#pragma once
#include <fulgurite/tensor.h>

namespace fulgurite {

/// prims.copy_ in eager mode: writes `source` into `destination` (same sizes and dtype) and gives it the source's
/// history. A write into a view changes the history of the tensor that it views.
void write_eagerly(const Tensor& source, const Tensor& destination, SourceLocation at);

}  // namespace fulgurite
