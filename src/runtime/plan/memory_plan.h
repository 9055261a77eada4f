#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace fulgurite {

/// A buffer and when it lives: from step `first` to step `last`, both included.
struct PlannedBuffer {
  int64_t bytes = 0;
  int first = 0, last = 0;
  int64_t offset = 0;  // the plan's answer: where it lies in the arena
};

/// Places buffers in one arena so that those alive at the same step do not overlap; offsets are multiples of 64. Gives the arena's
/// size in bytes.
///
/// In the order of time each buffer gets the free gap that it fits best. Where that takes more than is alive at once, other orders are tried:
/// again and again the buffer that stands out at the end comes first. That takes about a millisecond and is left out for many buffers.
int64_t plan_memory(std::span<PlannedBuffer> buffers);

}  // namespace fulgurite
