#pragma once
#include <fulgurite/trace.h>

namespace fulgurite {

/// Moves ops that update an input (an optimizer's step of one parameter) up to where their operands are computed and
/// the old value has been read for the last time, instead of after the complete backward: so a gradient's memory is
/// free for the next one. Values do not change.
///
///   t0 = matmul(x, dy)                               t0 = matmul(x, dy)
///   t1 = matmul(dy, v)                               t3 = adamw(w, t0, …)
///   t2 = …                                    ->     t1 = matmul(dy, v)
///   t3 = adamw(w, t0, …)                             t2 = …
///   copy_(t3, w)                                     copy_(t3, w)
Trace schedule_updates_early(const Trace&);
/// Returns true if the trace writes to inputs.
bool has_updates(const Trace&);

}  // namespace fulgurite
