#pragma once
#include <vector>

#include <fulgurite/examine.h>

#include "runtime/program.h"

namespace fulgurite::examine {

/// Where slots of a program that has run lay in memory, and when its steps touched what.
class ProgramMemory {
 public:
  explicit ProgramMemory(const Program&);

  /// Whether slots share memory.
  bool overlap(int slot, int other) const;
  /// Where what a slot is a view of begins, in bytes of the program's arena; 0 outside of it.
  int64_t begin(int slot) const { return places_[static_cast<size_t>(slot)].begin; }
  /// Bytes that steps touched, each once, between the last one before `step` that touched the slot's memory and `step`, itself and that memory not
  /// counted, and of the last one half; the steps before the first are the last of the run before. -1 where it was more than any cache holds, or nobody knows.
  int64_t moved_since(int slot, size_t step) const;

 private:
  struct MemoryRange {
    int memory = -1;  // slots with the same number lie in one allocation
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
