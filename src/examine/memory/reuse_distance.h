#pragma once
#include <vector>

#include <fulgurite/examine.h>

#include "runtime/program.h"

namespace fulgurite::examine {

/// The memory trace of an executed program: the addresses of its slots, and the steps that touched them.
class ProgramMemory {
 public:
  explicit ProgramMemory(const Program&);

  /// Returns true if the slots share memory.
  bool overlap(int slot, int other) const;
  /// The first byte, in the program's arena, of the storage that a slot views; 0 outside of the arena.
  int64_t begin(int slot) const { return places_[static_cast<size_t>(slot)].begin; }
  /// The reuse distance in bytes: the bytes that steps touched, each once, between the previous step that touched the
  /// slot's memory and `step`; that memory and `step` are not counted, the previous step by half. The steps before the
  /// first are the last of the run before. -1 if it was more than any cache holds, or is unknown.
  int64_t moved_since(int slot, size_t step) const;

 private:
  struct MemoryRange {
    int memory = -1;  // slots with the same value share one allocation
    int64_t begin = 0, end = 0;
    int64_t bytes = 0;  // of the slot's own elements
  };
  class Distinct;
  std::vector<MemoryRange> places_;  // by slot
  struct Access {
    std::vector<int> slots;
    int64_t packed = 0;  // bytes of memory of its own that a step fills and reads
  };
  std::vector<Access> touched_;  // by step
};

}  // namespace fulgurite::examine
