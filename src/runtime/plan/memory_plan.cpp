#include "runtime/plan/memory_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace fulgurite {

namespace {

constexpr int64_t alignment = 64;
constexpr size_t max_buffers_ordered = 1000;  // placing that many in a given order takes less than a millisecond
constexpr size_t max_placements = 1'500'000;  // for each first order; each buffer is compared with those placed before

int64_t rounded(int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// The gaps of an arena that grows at its end: by offset, to merge neighbours, and by size, to find the best fit.
class FreeMemory {
 public:
  /// Allocates the lower part of the smallest gap that holds `bytes`; new memory at the end if there is none.
  int64_t take(int64_t bytes) {
    const auto best = by_size_.lower_bound({bytes, 0});
    if (best == by_size_.end()) {
      // A gap at the end only needs to grow.
      const bool is_gap_last = !by_offset_.empty() && by_offset_.rbegin()->first + by_offset_.rbegin()->second == end_;
      const int64_t offset = is_gap_last ? by_offset_.rbegin()->first : end_;
      if (is_gap_last) remove(std::prev(by_offset_.end()));
      end_ = offset + bytes;
      return offset;
    }
    const auto [size, offset] = *best;
    remove(by_offset_.find(offset));
    if (size > bytes) add(offset + bytes, size - bytes);
    return offset;
  }

  void give_back(int64_t offset, int64_t bytes) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + bytes) {
      bytes += next->second;
      next = remove(next);
    }
    if (next != by_offset_.begin()) {
      const auto previous = std::prev(next);
      if (previous->first + previous->second == offset) {
        offset = previous->first;
        bytes += previous->second;
        remove(previous);
      }
    }
    add(offset, bytes);
  }

  int64_t end() const { return end_; }

 private:
  using Gaps = std::map<int64_t, int64_t>;  // offset → size
  void add(int64_t offset, int64_t size) {
    by_offset_.emplace(offset, size);
    by_size_.emplace(size, offset);
  }
  Gaps::iterator remove(Gaps::iterator gap) {
    by_size_.erase({gap->second, gap->first});
    return by_offset_.erase(gap);
  }

  Gaps by_offset_;
  std::set<std::pair<int64_t, int64_t>> by_size_;  // (size, offset)
  int64_t end_ = 0;
};

/// An arena's size, and the maximum of live bytes over all steps, which is a lower bound for any plan.
struct PlanByTime {
  int64_t arena = 0, max_alive = 0;
};

PlanByTime plan_by_time(std::span<PlannedBuffer> buffers) {
  std::vector<PlannedBuffer*> by_start;
  for (PlannedBuffer& buffer : buffers)
    if (buffer.bytes > 0) by_start.push_back(&buffer);
  std::vector<PlannedBuffer*> by_end = by_start;
  std::stable_sort(by_start.begin(), by_start.end(), [](const PlannedBuffer* a, const PlannedBuffer* b) {
    return a->first != b->first ? a->first < b->first : a->bytes > b->bytes;
  });
  std::stable_sort(by_end.begin(), by_end.end(),
                   [](const PlannedBuffer* a, const PlannedBuffer* b) { return a->last < b->last; });

  PlanByTime plan;
  FreeMemory memory;
  int64_t alive = 0;
  size_t ended = 0;
  for (PlannedBuffer* buffer : by_start) {
    for (; by_end[ended]->last < buffer->first; ++ended) {
      const int64_t bytes = rounded(by_end[ended]->bytes);
      memory.give_back(by_end[ended]->offset, bytes);
      alive -= bytes;
    }
    const int64_t bytes = rounded(buffer->bytes);
    buffer->offset = memory.take(bytes);
    alive += bytes;
    plan.max_alive = std::max(plan.max_alive, alive);
  }
  plan.arena = memory.end();
  return plan;
}

// The smallest gap between the placed buffers (sorted by offset) that holds `bytes`; after all of them if there is
// none.
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

/// Places buffers in the given order, each in its best-fitting gap.
int64_t place_in_order(const std::vector<PlannedBuffer*>& order) {
  int64_t arena = 0;
  std::vector<const PlannedBuffer*> placed;  // by offset
  std::vector<const PlannedBuffer*> neighbours;
  for (PlannedBuffer* buffer : order) {
    neighbours.clear();
    for (const PlannedBuffer* other : placed)
      if (other->first <= buffer->last && buffer->first <= other->last) neighbours.push_back(other);
    const int64_t bytes = rounded(buffer->bytes);
    buffer->offset = best_gap(neighbours, bytes);
    arena = std::max(arena, buffer->offset + bytes);
    const auto storage_class =
        std::upper_bound(placed.begin(), placed.end(), buffer,
                         [](const PlannedBuffer* a, const PlannedBuffer* b) { return a->offset < b->offset; });
    if (bytes > 0) placed.insert(storage_class, buffer);
  }
  return arena;
}

/// Tries orders until an arena is not larger than the live bytes. The buffer that ends last in one try is placed first
/// in the next. `arena` is the size to beat: returns the smallest arena found, and sets the offsets if it is smaller.
int64_t try_orders(std::span<PlannedBuffer> buffers, int64_t arena, int64_t max_alive) {
  std::vector<PlannedBuffer> tried(buffers.begin(), buffers.end());
  std::vector<PlannedBuffer*> by_size;
  for (PlannedBuffer& buffer : tried) by_size.push_back(&buffer);
  std::stable_sort(by_size.begin(), by_size.end(),
                   [](const PlannedBuffer* a, const PlannedBuffer* b) { return a->bytes > b->bytes; });
  std::vector<PlannedBuffer*> by_start = by_size;
  std::stable_sort(by_start.begin(), by_start.end(),
                   [](const PlannedBuffer* a, const PlannedBuffer* b) { return a->first < b->first; });
  const size_t tries = 1 + max_placements / (buffers.size() * buffers.size());
  for (std::vector<PlannedBuffer*>* order : {&by_start, &by_size}) {
    for (size_t i = 0; i < std::min<size_t>(tries, 50) && arena > max_alive; ++i) {
      const int64_t found = place_in_order(*order);
      if (found < arena) {
        arena = found;
        std::copy(tried.begin(), tried.end(), buffers.begin());
      }
      const auto last = std::find_if(order->begin(), order->end(), [&](const PlannedBuffer* buffer) {
        return buffer->offset + rounded(buffer->bytes) == found;
      });
      std::rotate(order->begin(), last, last + 1);
    }
  }
  return arena;
}

}  // namespace

int64_t plan_memory(std::span<PlannedBuffer> buffers) {
  const PlanByTime by_time = plan_by_time(buffers);
  if (by_time.arena == by_time.max_alive || buffers.size() > max_buffers_ordered) return by_time.arena;
  return try_orders(buffers, by_time.arena, by_time.max_alive);
}

}  // namespace fulgurite
