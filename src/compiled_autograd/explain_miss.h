#pragma once
#include <string>
#include <vector>

#include "compiled_autograd/captures.h"

namespace fulgurite {

/// "Cache miss due to new autograd node: …": the first node of a structure that no known one with the same nodes before it has, and on a second
/// line the first field of it that differs from the newest of those, from what to what, and the user's line.
std::string explain_new_node(const StructureOfBackward&, std::vector<const StructureOfBackward*> known);

/// "Cache miss due to changed shapes: …": a line for each size that the next capture has another symbol for, or the guard that does not hold.
std::string explain_new_sizes(const StructureOfBackward&, const Capture& newest, const BackwardSizes& sizes);

}  // namespace fulgurite
