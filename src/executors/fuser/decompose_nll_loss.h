#pragma once
#include <fulgurite/trace.h>

namespace fulgurite::fuser {

/// Whether a line is a loss that picks one class of each row, or the cotangent of one, as kernels can compute it.
bool is_class_loss(const BoundSymbol&);

/// The lines of class losses that `candidate` stands at, in their place: what takes an element of each row, or puts one into rows of
/// zeros, may be in a kernel with whatever makes or reads the rows, which then are never in memory.
///
///   t1 = prims.nll_loss_backward(t0, t_2, …)     ->     t3 = …  # of each row, which class and what
///                                                       t4 = full([2048, 50257], 0)
///                                                       t1 = scatter(t4, 1, t_2, t3)
Trace decompose_nll_loss(const Trace&, const Implementation& candidate);

}  // namespace fulgurite::fuser
