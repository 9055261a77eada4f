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
/// Two ways are tried and the smaller arena is kept: in the order of time, each buffer in the free gap that it fits best; and the
/// largest buffers first, which is often smaller but takes quadratic time, so it is left out for many buffers.
int64_t plan_memory(std::span<PlannedBuffer> buffers);

}  // namespace fulgurite
