#pragma once
#include "executors/registry.h"

namespace fulgurite::fuser {

/// Puts the lines that `candidate` stands at into fusions, each with its kernel; what is left has no implementation. Where kernels
/// cannot be compiled nothing is fused. Unless everything is asked for, only where that pays (see what_pays.h).
///
///   t0 = mul(t_0, t_1)
///   t1 = add(t0, t_2)          ->     [t2] = fusion0(t_0, t_1, t_2)
///   t2 = gelu(t1)                     t3 = matmul(t2, t_3)
///   t3 = matmul(t2, t_3)
Trace fuse(const Trace&, const Implementation& candidate, FusionNames&, FusingOptions);

}  // namespace fulgurite::fuser
