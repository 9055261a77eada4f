#pragma once
#include "transforms/recomputation_cost.h"

namespace fulgurite {

/// choose_recomputation with the costs of other executors.
Trace choose_recomputation(const Trace& joint, const RecomputationOptions&, const RecomputationCost&);

}  // namespace fulgurite
