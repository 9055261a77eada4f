#pragma once
#include "executors/fusion/grouping.h"

namespace fulgurite::fuser {

/// Profitability heuristic for implicit fusion: a compiler run costs as much as many calls of something small.
/// Functions of the trace alone, so that the same program always runs the same kernels, and gives the same bits.

/// Returns true if a trace moves so much memory that some group may be profitable.
bool may_be_profitable(const Trace&);
/// Keeps the groups that move less memory as one kernel, and enough of it.
void keep_profitable(const Trace&, FusionGroups&);

}  // namespace fulgurite::fuser
