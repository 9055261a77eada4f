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
  /// What steps did between the last one before a step that touched some memory and that step.
  struct Between {
    int64_t moved = -1;      // bytes that they touched, each once, that memory not counted; -1 where it was more than any cache holds, or nobody knows
    int64_t operations = 0;  // floating operations, with half of those of the one that touched it bit by bit
  };
  /// For a slot's memory; the steps before the first are the last of the run before.
  Between since_touched(int slot, size_t step) const;

 private:
  struct MemoryPlace {
    int memory = -1;  // slots with the same number lie in one allocation
    int64_t begin = 0, end = 0;
    int64_t bytes = 0;  // of the slot's own elements
  };
  struct Touched {
    std::vector<int> slots;
    int64_t operations = 0;
  };
  class Distinct;
  std::vector<MemoryPlace> places_;  // by slot
  std::vector<Touched> touched_;     // by step
};

inline void take(FusionInput& input, const ProgramMemory::Between& between) {
  input.moved_since = between.moved;
  input.operations_since = between.operations;
}

}  // namespace fulgurite::examine
