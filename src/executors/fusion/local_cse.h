#pragma once
#include <optional>

#include "executors/fusion/grouping.h"

namespace fulgurite::fuser {

/// Replaces ops of a group that recompute an op of the same group, as a backward does on purpose: both results would be
/// stored at the same time anyway. None if there are no such ops; otherwise the trace must be grouped again.
///
///     t1 = gelu(t0)                               t1 = gelu(t0)
///     t2 = gelu(t0)             # recomputed  →   t3 = mul(t_g, t1)
///     t3 = mul(t_g, t2)
std::optional<Trace> local_cse(const Trace&, const FusionGroups&);

}  // namespace fulgurite::fuser
