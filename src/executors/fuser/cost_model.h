#pragma once
#include "executors/fusion/grouping.h"

namespace fulgurite::fuser {

/// Whether kernels pay, for functions whose user did not ask for them by name: a run of the compiler costs as much as many calls of
/// something small. Functions of the trace alone, so the same program always runs the same kernels, and gives the same bits.

/// Whether a trace moves so much that some region of it may pay.
bool may_pay(const Trace&);
/// Leaves the regions that move less memory as one kernel, and enough of it.
void keep_profitable(const Trace&, FusionGroups&);

}  // namespace fulgurite::fuser
