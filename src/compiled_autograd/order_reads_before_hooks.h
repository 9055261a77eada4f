#pragma once
#include <vector>

#include "compiled_autograd/capture.h"
#include "transforms/in_place.h"

namespace fulgurite {

/// Hooks may write what a backward was given: a weight is updated as soon as its gradient is there. What reads such memory, and is recorded
/// before a hook, comes before it. Where a hook runs after a gradient was added to a leaf, before that.
///
///   t0 = matmul(saved_0, gradient_0)
///   t1 = matmul(gradient_0, saved_1)               t1 before the accumulation: saved_1 may be leaf_0
///   accumulate_grad_(0, leaf_0, t0)        ->
///   call_hook(1, leaf_0, …)
std::vector<OpPair> order_reads_before_hooks(const CapturedBackward&);

}  // namespace fulgurite
