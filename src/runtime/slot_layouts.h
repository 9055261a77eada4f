#pragma once
#include <span>
#include <vector>

#include "runtime/plan/execution_plan.h"
#include "runtime/program.h"

namespace fulgurite {

/// How a slot's tensor lay in a run.
struct SlotLayout {
  Sizes sizes, strides;
  int64_t offset = 0;  // of an input or a view of one, from its storage's first element; else from the first element that the program made
  Dtype dtype = Dtype::f32;
  int memory = -1;     // slots with the same number share memory
};

/// The layouts of a plan's slots in a run that had these inputs. Nothing is written down for it while a program runs: what the program
/// makes lies where the plan says, and views of inputs follow from the inputs.
std::vector<SlotLayout> slot_layouts(const ExecutionPlan&, std::span<const InputRecord>);

}  // namespace fulgurite
