#pragma once
#include <vector>

#include <fulgurite/trace.h>

namespace fulgurite {

/// By proxy id, which values of a recorded trace eager mode may keep for the backward: arguments and results of the operators whose gradient
/// needs a value of the forward, and what the backward of `joint`, made of that trace, reads. The caller may overwrite all others.
std::vector<char> saved_by_operators(const Trace& recorded, const Trace& joint);

}  // namespace fulgurite
