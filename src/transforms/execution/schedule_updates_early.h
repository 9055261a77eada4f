#pragma once
#include <fulgurite/trace.h>

namespace fulgurite {

/// Lines that update an input (an optimizer's step of one parameter) run as soon as all they read is there and the old value is read no more, not
/// after the whole backward: so a gradient's memory is free for the next one. Values do not change.
///
///   t0 = matmul(x, dy)                               t0 = matmul(x, dy)
///   t1 = matmul(dy, v)                               t3 = adamw(w, t0, …)
///   t2 = …                                    ->     t1 = matmul(dy, v)
///   t3 = adamw(w, t0, …)                             t2 = …
///   copy_(t3, w)                                     copy_(t3, w)
Trace schedule_updates_early(const Trace&);
/// Whether it writes to inputs at all.
bool has_updates(const Trace&);

}  // namespace fulgurite
