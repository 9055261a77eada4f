#pragma once
#include "runtime/plan/execution_plan.h"

namespace fulgurite {

/// The parts that a `cat` joins are made where they lie in its result, and the step that copies them is dropped: the cotangents of a packed
/// projection, which attention's backward makes one by one. That is for results of kernels which take results of any strides, which nothing but
/// the cat reads, and which it reads in the order that they lie in; all parts of it, or none.
///   before:  step 0: a, b = attention backward(…)      a, b: 8 MB each, rows of 384
///            step 1: c = cat({a, b}, 1)                c: 16 MB
///   after:   step 0: a, b = attention backward(…)      a, b: every other 384 elements of c
void elide_concat_copies(ExecutionPlan&);

}  // namespace fulgurite
