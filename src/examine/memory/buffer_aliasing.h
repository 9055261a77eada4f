#pragma once
#include <unordered_map>

#include <fulgurite/trace.h>

namespace fulgurite::examine {

/// For a trace that executors have claimed: the values that its program writes straight into the memory of another, by
/// proxy id, each with that other value: an input (the target of a copy_), or an operand that is read for the last
/// time. Empty if the trace is not a program yet or its sizes are not fixed.
std::unordered_map<int, Value> buffer_aliasing(const Trace&);

}  // namespace fulgurite::examine
