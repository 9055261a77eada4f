#pragma once
#include "runtime/plan/execution_plan.h"

namespace fulgurite {

/// Makes kernels write the operands of `cat` directly into its result, and drops the step that copies them: for example
/// the cotangents of a packed projection, which attention's backward computes one by one. Requires, for all operands or
/// none, that a kernel that accepts results of any strides produces the operand, that only the cat reads it, and that
/// it is contiguous.
///   before:  step 0: a, b = attention backward(…)      a, b: 8 MB each, rows of 384
///            step 1: c = cat({a, b}, 1)                c: 16 MB
///   after:   step 0: a, b = attention backward(…)      a, b: every other 384 elements of c
void elide_concat_copies(ExecutionPlan&);

}  // namespace fulgurite
