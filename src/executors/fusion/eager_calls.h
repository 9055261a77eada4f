#pragma once
#include <fulgurite/trace.h>

namespace fulgurite::fuser {

/// Returns true if eager mode computes an op by one kernel: its subsymbols are not rounded separately then.
bool is_one_eager_call(const BoundSymbol&);

}  // namespace fulgurite::fuser
