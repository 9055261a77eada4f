#pragma once
#include <vector>

#include <fulgurite/trace.h>

namespace fulgurite {

/// For each symbol of a joint trace whether it belongs to the forward: what the forward's results need, and writes into inputs.
/// What reads a cotangent and the return belong to neither.
std::vector<char> find_forward(const Trace& joint);

/// Whether a symbol may be run a second time at all: it does not draw or write.
bool is_recomputable(const BoundSymbol&);

}  // namespace fulgurite
