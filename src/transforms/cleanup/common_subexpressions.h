#pragma once
#include <optional>
#include <span>

#include <fulgurite/trace.h>

namespace fulgurite {

/// Merges equal ops within groups alone: `group_of` has a group for each op, -1 for none. Ops that a backward
/// recomputes are merged too: within a kernel both results would be stored at the same time. None if there are no equal
/// ops.
///
///     t1 = gelu(t0)                               t1 = gelu(t0)
///     t2 = gelu(t0)             # recomputed  →   t3 = mul(t_g, t1)
///     t3 = mul(t_g, t2)
std::optional<Trace> merge_within_groups(const Trace&, std::span<const int> group_of);

}  // namespace fulgurite
