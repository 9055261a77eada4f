#include "examine/memory/reuse_distance.h"

#include <algorithm>
#include <limits>
#include <map>

#include "examine/fusions/find_fusion.h"
#include "executors/gemm/gemm_kernel.h"
#include "ir/analysis/operation_count.h"
#include "runtime/slot_layouts.h"

namespace fulgurite::examine {

namespace {

constexpr int64_t max_cache_bytes = int64_t{256} << 20;
constexpr int arena = -2;

int64_t bytes_of(const SlotLayout& layout) {
  int64_t bytes = size_of(layout.dtype);
  for (size_t d = 0; d < layout.sizes.size(); ++d)
    if (layout.strides[d] != 0 || layout.sizes[d] == 0) bytes *= layout.sizes[d];
  return bytes;
}

// A generated GEMM's packed right operand is reread for each row block, so it takes room in the caches beside the
// operands.
int64_t packed_bytes(const Step& step) {
  if (step.bound == nullptr || !step.bound->is_fusion() || step.bound->implementation == nullptr) return 0;
  const FusedKernel* const kernel = step.bound->implementation->fusion;
  const int64_t step_depth = kernel == nullptr ? 0 : kernel->packed_step_depth();
  if (step_depth == 0) return 0;
  int64_t rows = 1, columns = 1;
  for (const Int size : step.bound->outputs.at(0).tensor().shape) {
    rows *= columns;
    columns = size.hint();
  }
  // Two operations for each element of a packed row, whose steps take four bytes.
  return rows > 0 ? operation_count(*step.bound) / rows * 2 / step_depth : 0;
}

}  // namespace

ProgramMemory::ProgramMemory(const Program& program) {
  const ExecutionPlan& plan = program.plan();
  const std::vector<SlotLayout> layouts = slot_layouts(plan, program.last_inputs());
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    const Slot& root = plan.slots[static_cast<size_t>(std::max(plan.slots[i].root, 0))];
    MemoryRange& storage_class = places_.emplace_back();
    storage_class.bytes = bytes_of(layouts[i]);
    if (plan.slots[i].root >= 0 && root.storage_class == StorageClass::arena) {
      storage_class.memory = arena;
      storage_class.begin = root.arena_offset;
      storage_class.end = storage_class.begin + bytes_of(layouts[static_cast<size_t>(plan.slots[i].root)]);
    } else {
      // Per allocation: a step that touches a part of it counts as touching all of it.
      storage_class.memory = layouts[i].memory;
      storage_class.end = std::numeric_limits<int64_t>::max();
    }
  }
  for (const Step& step : plan.steps) {
    Access& touched = touched_.emplace_back();
    touched.packed = packed_bytes(step);
    if (step.kind == Step::Kind::view || step.kind == Step::Kind::input_view) continue;
    for (const int slot : step.operands)
      if (std::ranges::find(touched.slots, slot) == touched.slots.end()) touched.slots.push_back(slot);
    const bool writes_one = step.kind == Step::Kind::write || step.kind == Step::Kind::clone;
    for (int k = 0; k < (writes_one ? 1 : step.result_count); ++k) touched.slots.push_back(step.result + k);
  }
}

bool ProgramMemory::overlap(int slot, int other) const {
  const MemoryRange &a = places_[static_cast<size_t>(slot)], &b = places_[static_cast<size_t>(other)];
  return a.memory == b.memory && a.memory != -1 && a.begin < b.end && b.begin < a.end;
}

// Touched memory, each byte once: memory touched again is in the caches already.
class ProgramMemory::Distinct {
 public:
  void add(const MemoryRange& storage_class) {
    if (storage_class.memory != arena) {
      int64_t& known = others_[storage_class.memory];
      bytes_ += std::max<int64_t>(0, storage_class.bytes - known);
      known = std::max(known, storage_class.bytes);
      return;
    }
    int64_t begin = storage_class.begin, end = storage_class.begin + storage_class.bytes;
    auto at = ranges_.lower_bound(begin);
    if (at != ranges_.begin() && std::prev(at)->second >= begin) --at;
    for (; at != ranges_.end() && at->first <= end; at = ranges_.erase(at)) {
      begin = std::min(begin, at->first);
      end = std::max(end, at->second);
      bytes_ -= at->second - at->first;
    }
    ranges_[begin] = end;
    bytes_ += end - begin;
  }
  int64_t bytes() const { return bytes_; }

 private:
  std::map<int64_t, int64_t> ranges_;  // bounds of disjoint arena ranges
  std::map<int, int64_t> others_;
  int64_t bytes_ = 0;
};

int64_t ProgramMemory::moved_since(int slot, size_t step) const {
  Distinct moved;
  int64_t packed = 0;
  for (size_t back = 1; back <= touched_.size(); ++back) {
    const Access& before = touched_[(step + touched_.size() - back) % touched_.size()];
    const int64_t later = moved.bytes() + packed;
    for (const int other : before.slots) moved.add(places_[static_cast<size_t>(other)]);
    packed += before.packed;
    if (std::ranges::any_of(before.slots, [&](int other) { return overlap(slot, other); })) {
      // A step touches its memory from beginning to end: half of its other memory is touched afterwards.
      const int64_t beside = moved.bytes() + packed - later - places_[static_cast<size_t>(slot)].bytes;
      return later + std::max<int64_t>(0, beside) / 2;
    }
    if (moved.bytes() + packed > max_cache_bytes) break;
  }
  return -1;
}

}  // namespace fulgurite::examine
