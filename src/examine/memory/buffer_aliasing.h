#pragma once
#include <unordered_map>

#include <fulgurite/trace.h>

namespace fulgurite::examine {

/// Of a trace that executors have claimed: the values that its program writes straight into the memory of another, by proxy id, each with that
/// one: an input (what a copy_ would bring there), or an operand that is read for the last time. Empty for a trace that is not a program yet, or whose
/// sizes are not fixed.
std::unordered_map<int, Value> buffer_aliasing(const Trace&);

}  // namespace fulgurite::examine
