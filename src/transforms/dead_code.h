#pragma once
#include <fulgurite/trace.h>

namespace fulgurite {

/// eliminate_dead_code in place: for a trace that nobody else sees yet.
void remove_dead_code(Trace&);

}  // namespace fulgurite
