#pragma once
#include <fulgurite/scalar_formula.h>

#include "executors/eager/kernels/elementwise/pointwise.h"

namespace fulgurite::FULGURITE_KERNELS {

/// The row function of an operation on operands of a dtype; null if it is not defined for it. Comparisons write
/// booleans; `select` reads one as its first operand.
Row find_scalar_row(ScalarOp, Dtype operands);
/// Copies elements.
Row find_copy_row(Dtype);
/// The number of elements worth a thread.
int64_t grain_of(ScalarOp);

}  // namespace fulgurite::FULGURITE_KERNELS
