#pragma once
#include <vector>

#include <fulgurite/trace.h>

#include "executors/registry.h"

namespace fulgurite {

/// Assigns an executor to each symbol: the first in the list that implements it and whose checker accepts the call. An
/// unclaimed symbol is replaced by its decomposition; an unclaimed primitive is a UserError that names it and the
/// user's line. Views and structural symbols of the trace stay as they are.
///
///   t0 = gelu(t_0)            t0 = gelu(t_0)          claimed as one op by eager
///   t1 = dropout(t0)     ->   t1 = prims.uniform(…)   decomposed
///   return t1                 …
Trace transform_for_execution(const Trace&, const std::vector<const Executor*>& executors);

}  // namespace fulgurite
