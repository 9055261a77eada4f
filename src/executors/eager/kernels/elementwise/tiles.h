#pragma once
#include "executors/eager/kernels/elementwise/pointwise.h"

namespace fulgurite::FULGURITE_KERNELS {

/// Computes a pointwise result where operands are transposed, tile by tile: each is brought into the order in which the most
/// tensors lie, operands before the row functions and the result after them. False where no two dimensions suit.
bool run_in_tiles(const Pointwise&, std::initializer_list<const Argument*> operands, const Tensor& result,
                  const RowParameters&);

}  // namespace fulgurite::FULGURITE_KERNELS
