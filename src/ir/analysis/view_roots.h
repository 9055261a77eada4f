#pragma once
#include <span>
#include <vector>

#include <fulgurite/trace.h>

namespace fulgurite {

/// For each value, by proxy id, the one in whose memory it may lie: what it was made of by views, or by operators that give a view
/// where strides allow; itself where there is none.
std::vector<int> view_roots(std::span<const BoundSymbol>, int next_id);

}  // namespace fulgurite
