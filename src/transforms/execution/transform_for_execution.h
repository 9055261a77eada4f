#pragma once
#include <vector>

#include <fulgurite/trace.h>

#include "executors/registry.h"

namespace fulgurite {

/// Decides who runs each symbol: the first executor in the list that implements it and whose checker accepts the call. A symbol that nobody
/// claims is replaced by its decomposition; a primitive nobody claims is a UserError that names it and the user's line. Views and symbols
/// that belong to the trace itself stay as they are.
///
///   t0 = gelu(t_0)            t0 = gelu(t_0)          claimed whole by eager
///   t1 = dropout(t0)     ->   t1 = prims.uniform(…)   decomposed
///   return t1                 …
Trace transform_for_execution(const Trace&, const std::vector<const Executor*>& executors);

}  // namespace fulgurite
