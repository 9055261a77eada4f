#pragma once
#include <unordered_map>

#include <fulgurite/trace.h>

namespace fulgurite::examine {

/// Of a trace that executors have claimed: the values that its program writes straight into the memory of an input, by proxy id, each with that
/// input (what a copy_ would bring there). Empty for a trace that is no program yet, or whose sizes are not fixed.
std::unordered_map<int, Value> written_inputs(const Trace&);

}  // namespace fulgurite::examine
