#pragma once
#include <fulgurite/trace.h>

namespace fulgurite {

// Two operations for each summed product. Symbolic sizes have the values of the recorded call.

/// Counts those of a product of matrices or vectors.
int64_t count_matmul(const BoundSymbol&);
/// Count those of prims.convolution and of prims.convolution_weight.
int64_t count_convolution(const BoundSymbol&);
int64_t count_convolution_weight(const BoundSymbol&);

}  // namespace fulgurite
