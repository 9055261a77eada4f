#pragma once
#include "transforms/rematerialization/rematerialization_cost.h"

namespace fulgurite {

/// choose_recomputation with the costs of other executors.
Trace choose_recomputation(const Trace& joint, const RecomputationOptions&, const RecomputationCost&);

/// `recorded` is the source of the joint trace. Arguments and results of the function that eager mode would not save,
/// and that the caller may therefore overwrite before the backward, are not saved instead of others.
Trace choose_recomputation(const Trace& joint, const RecomputationOptions&, const Trace& recorded);

}  // namespace fulgurite
