#pragma once
#include <vector>

#include <fulgurite/trace.h>

namespace fulgurite {

/// By proxy id, the values of a recorded trace that eager mode may save for the backward: arguments and results of the
/// operators whose gradient needs a forward value, and those read by the backward of `joint`, derived from that trace.
/// The caller may overwrite all others.
std::vector<char> saved_by_operators(const Trace& recorded, const Trace& joint);

}  // namespace fulgurite
