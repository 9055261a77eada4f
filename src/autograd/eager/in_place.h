#pragma once
#include <fulgurite/tensor.h>

namespace fulgurite {

/// prims.copy_ in eager mode: writes `source` into `destination` (same sizes and dtype) and gives it the source's
/// history. A write into a view changes the history of its base.
void write_eagerly(const Tensor& source, const Tensor& destination, SourceLocation at);

/// For elements that are already written: only gives `destination` the source's history.
void take_history(const Tensor& source, const Tensor& destination);

}  // namespace fulgurite
