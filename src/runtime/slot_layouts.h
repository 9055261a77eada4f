#pragma once
#include <span>
#include <vector>

#include "runtime/plan/execution_plan.h"
#include "runtime/program.h"

namespace fulgurite {

/// The layout of a slot's tensor in a run.
struct SlotLayout {
  Sizes sizes, strides;
  // for an input or a view of one, from its storage's first element; else from the first element that the program made
  int64_t offset = 0;
  Dtype dtype = Dtype::f32;
  int memory = -1;  // slots with the same number share memory
};

/// The layouts of a plan's slots in a run with these inputs. Running programs record nothing for it: the plan
/// determines the layouts of the program's own values, and views of inputs follow from the inputs.
std::vector<SlotLayout> slot_layouts(const ExecutionPlan&, std::span<const InputRecord>);

}  // namespace fulgurite
