#pragma once
#include <span>
#include <vector>

#include <fulgurite/trace.h>

namespace fulgurite {

/// By proxy id, the value whose memory each value may alias: its base through views, and through operators that return
/// a view if strides allow; itself if there is none.
std::vector<int> view_roots(std::span<const BoundSymbol>, int next_id);

}  // namespace fulgurite
