#pragma once
#include <fulgurite/trace.h>

namespace fulgurite::fuser {

/// Returns true if eager mode computes a line by one kernel: what it is made of has no roundings of its own then.
bool is_one_eager_call(const BoundSymbol&);

}  // namespace fulgurite::fuser
