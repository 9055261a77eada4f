#include "runtime/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace fulgurite {

namespace {

constexpr int64_t alignment = 64;

int64_t rounded(int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

// The smallest gap between the placed buffers (sorted by offset) that holds `bytes`; behind all of them when there is none.
int64_t best_gap(const std::vector<const PlannedBuffer*>& neighbours, int64_t bytes) {
  int64_t end = 0, best_offset = -1, best_size = 0;
  for (const PlannedBuffer* buffer : neighbours) {
    const int64_t gap = buffer->offset - end;
    if (gap >= bytes && (best_offset < 0 || gap < best_size)) {
      best_offset = end;
      best_size = gap;
    }
    end = std::max(end, buffer->offset + rounded(buffer->bytes));
  }
  return best_offset < 0 ? end : best_offset;
}

}  // namespace

int64_t plan_memory(std::span<PlannedBuffer> buffers) {
  std::vector<PlannedBuffer*> by_size;
  for (PlannedBuffer& buffer : buffers) by_size.push_back(&buffer);
  std::stable_sort(by_size.begin(), by_size.end(),
                   [](const PlannedBuffer* a, const PlannedBuffer* b) { return a->bytes > b->bytes; });

  int64_t arena = 0;
  std::vector<const PlannedBuffer*> placed;  // by offset
  std::vector<const PlannedBuffer*> neighbours;
  for (PlannedBuffer* buffer : by_size) {
    neighbours.clear();
    for (const PlannedBuffer* other : placed)
      if (other->first <= buffer->last && buffer->first <= other->last) neighbours.push_back(other);
    const int64_t bytes = rounded(buffer->bytes);
    buffer->offset = best_gap(neighbours, bytes);
    arena = std::max(arena, buffer->offset + bytes);
    const auto place = std::upper_bound(placed.begin(), placed.end(), buffer,
                                        [](const PlannedBuffer* a, const PlannedBuffer* b) { return a->offset < b->offset; });
    if (bytes > 0) placed.insert(place, buffer);
  }
  return arena;
}

}  // namespace fulgurite
