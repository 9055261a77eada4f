#pragma once
#include "executors/eager/gemm_block.h"

namespace fulgurite {

/// Computes the block with oneDNN, on this thread alone; false where the library is not built in, or does not do this
/// dtype or these strides.
bool library_multiply(const BlockProduct&);

}  // namespace fulgurite
