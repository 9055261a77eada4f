#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace fulgurite {

/// A buffer and its lifetime: from step `first` to step `last`, inclusive.
struct PlannedBuffer {
  int64_t bytes = 0;
  int first = 0, last = 0;
  int64_t offset = 0;  // set by plan_memory: its position in the arena
};

/// Places buffers in one arena so that those alive at the same step do not overlap; offsets are multiples of 64.
/// Returns the arena's size in bytes.
///
/// Buffers are placed by start time, each in the best-fitting free gap. If that needs more than the maximum of live
/// bytes, other orders are tried, each with the buffer that ended last placed first. This takes about a millisecond and
/// is skipped for many buffers.
int64_t plan_memory(std::span<PlannedBuffer> buffers);

}  // namespace fulgurite
