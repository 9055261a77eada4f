#pragma once
#include <string>
#include <vector>

#include "compiled_autograd/captures.h"

namespace fulgurite {

/// "Cache miss due to new autograd node: …": the first node at which a structure departs from all known ones; on a
/// second line the first field that differs from the newest of those, the old and the new value, and the user's line.
std::string explain_new_node(const StructureOfBackward&, std::vector<const StructureOfBackward*> known);

/// "Cache miss due to changed shapes: …": a line for each size with another symbol in the next capture, or the guard
/// that fails.
std::string explain_new_sizes(const StructureOfBackward&, const Capture& newest, const BackwardSizes& sizes);

}  // namespace fulgurite
