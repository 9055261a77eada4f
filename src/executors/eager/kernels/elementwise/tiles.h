#pragma once
#include "executors/eager/kernels/elementwise/pointwise.h"

namespace fulgurite::FULGURITE_KERNELS {

/// Computes a pointwise result with transposed operands tile by tile: each tile is brought into the order of most
/// tensors, operands before the row functions and the result after them. Returns false if no two dimensions are
/// suitable.
bool run_in_tiles(const Pointwise&, std::initializer_list<const Argument*> operands, const Tensor& result,
                  const RowParameters&);

}  // namespace fulgurite::FULGURITE_KERNELS
