#pragma once
#include <vector>

#include <fulgurite/examine.h>

namespace fulgurite::examine {

/// Marks those of the inputs of a trace's line that lines just before it made or read: as little as a second cache holds lies between.
void mark_recent(const Trace&, int line, std::vector<FusionInput>& inputs);

}  // namespace fulgurite::examine
