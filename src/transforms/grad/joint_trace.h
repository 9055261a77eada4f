#pragma once
#include <vector>

#include <fulgurite/trace.h>

namespace fulgurite {

/// True for each symbol of a joint trace that belongs to the forward: dependencies of the forward's results, and writes
/// into inputs. Readers of a cotangent and the return belong to neither.
std::vector<char> find_forward(const Trace& joint);

/// Returns true if a symbol can be recomputed: it does not draw or write.
bool is_recomputable(const BoundSymbol&);

}  // namespace fulgurite
