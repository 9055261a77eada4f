#pragma once
#include "executors/eager/gemm_block.h"

namespace fulgurite {

/// Computes the block with oneDNN, on this thread alone; returns false if the library is not built in, or does not
/// support the dtype or the strides.
bool library_multiply(const GemmBlock&);

}  // namespace fulgurite
