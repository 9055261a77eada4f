#pragma once
#include "executors/registry.h"

namespace fulgurite::fuser {

/// Puts the ops that are marked with `candidate` into fusions, each with its kernel; the others have no implementation
/// afterwards. Fuses nothing if kernels cannot be compiled. Unless everything is to be fused, only profitable groups
/// are (see cost_model.h).
///
///   t0 = mul(t_0, t_1)
///   t1 = add(t0, t_2)          ->     [t2] = fusion0(t_0, t_1, t_2)
///   t2 = gelu(t1)                     t3 = matmul(t2, t_3)
///   t3 = matmul(t2, t_3)
Trace fuse(const Trace&, const Implementation& candidate, FusionNames&, FusingOptions);

}  // namespace fulgurite::fuser
