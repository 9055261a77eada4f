#pragma once
#include <optional>

#include "executors/fusion/grouping.h"

namespace fulgurite::fuser {

/// Lines of a region that compute again what another one has computed there, as a backward does on purpose, become that one: both results would
/// be stored at the same time. None where there are no such lines; else regions are to be grown anew.
///
///     t1 = gelu(t0)                               t1 = gelu(t0)
///     t2 = gelu(t0)             # recomputed  →   t3 = mul(t_g, t1)
///     t3 = mul(t_g, t2)
std::optional<Trace> local_cse(const Trace&, const FusionGroups&);

}  // namespace fulgurite::fuser
