#pragma once
#include <vector>

#include "compiled_autograd/capture.h"
#include "transforms/in_place.h"

namespace fulgurite {

/// Hooks may write the backward's inputs: an optimizer may update a weight as soon as its gradient is accumulated. Ops
/// that read such memory and are recorded before a hook are ordered before it; before the accumulation, if the hook
/// runs after one.
///
///   t0 = matmul(saved_0, gradient_0)
///   t1 = matmul(gradient_0, saved_1)               t1 before the accumulation: saved_1 may be leaf_0
///   accumulate_grad_(0, leaf_0, t0)        ->
///   call_hook(1, leaf_0, …)
std::vector<OpPair> order_reads_before_hooks(const CapturedBackward&);

}  // namespace fulgurite
