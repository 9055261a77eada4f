#pragma once
#include <fulgurite/trace.h>

namespace fulgurite::fuser {

/// Returns true for a loss that picks one class of each row, or its cotangent, in a form that kernels can compute.
bool is_class_loss(const BoundSymbol&);

/// Decomposes the class losses that are marked with `candidate`: the gather from each row, or the scatter into rows of
/// zeros, can then be fused with the producers or consumers of the rows, which are never stored in memory.
///
///   t1 = prims.nll_loss_backward(t0, t_2, …)     ->     t3 = …  # for each row, the class and the value
///                                                       t4 = full([2048, 50257], 0)
///                                                       t1 = scatter(t4, 1, t_2, t3)
Trace decompose_nll_loss(const Trace&, const Implementation& candidate);

}  // namespace fulgurite::fuser
