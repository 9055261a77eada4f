#pragma once
#include <fulgurite/trace.h>

namespace fulgurite {

// Passes in place, for a trace that nobody else sees yet.

/// eliminate_dead_code
void remove_dead_code(Trace&);
/// canonical_order
void bring_into_canonical_order(Trace&);

}  // namespace fulgurite
