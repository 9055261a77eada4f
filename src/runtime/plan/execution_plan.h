#pragma once
#include <deque>
#include <memory>
#include <vector>

#include <fulgurite/trace.h>

#include "ops/core/rules.h"
#include "runtime/fusion_times.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

/// Where the memory of a value comes from.
enum class StorageClass : uint8_t {
  input,         // given by the caller; its strides are known when the program runs
  arena,         // at a fixed place of the memory plan
  fresh,         // allocated in each run: it outlives the run
  input_memory,  // written straight into the input that a copy_ would bring it to, if that is contiguous; else allocated
  input_view,    // a view of an input, or a copy where its strides allow no view: found out when the program runs
};

struct Geometry {
  Sizes sizes, strides;
};

/// A value of the trace. Of several names for one memory (views, and results that are written over an operand) one slot is the root.
struct Slot {
  StorageClass storage_class = StorageClass::arena;
  Dtype dtype = Dtype::f32;
  const Geometry* geometry = nullptr;  // the plan's; shared by slots
  // Of a view of memory that the program makes itself: all is known beforehand, relative to the root's first element.
  int64_t offset = 0;
  int root = -1;              // itself, unless it is a view or lies where another value was
  bool escapes = false;       // a result of the program: its tensor object must be a new one in each run
  int first = 0, last = 0;    // of a root: the steps between which it or a view of it is used
  int64_t arena_offset = 0;   // of a root in the arena, in bytes
  int destination = -1;       // of one written into an input: that input

  const Sizes& sizes() const { return geometry->sizes; }
  const Sizes& strides() const { return geometry->strides; }
  int64_t element_count() const {
    int64_t count = 1;
    for (const int64_t size : sizes()) count *= size;
    return count;
  }
};

using Operands = SmallVector<int, 4>;

/// One thing to do.
struct Step {
  enum class Kind : uint8_t {
    kernel,      // results = kernel(arguments)
    call,        // results = what a user's function gives
    clone,       // result = a contiguous copy of `source`
    view,        // result = a view of its root, whose memory is not in the arena
    input_view,  // result = the view rule applied to arguments, of which the first is `source`
    write,       // `source` is written into the memory of `result`
  };
  Kind kind = Kind::kernel;
  const BoundSymbol* bound = nullptr;  // whose arguments are given
  int result = -1, result_count = 0;   // consecutive slots
  int source = -1;
  Operands operands;                   // slots of the tensors among the arguments, lists opened; or `source`
};

/// An execution trace laid out for running: slots, steps in order, and where each slot's memory lies. Shared by all runs.
struct ExecutionPlan {
  Trace trace;
  std::deque<Geometry> geometries;
  std::vector<Slot> slots;
  std::vector<Step> steps;
  std::vector<int> inputs;    // slots of the inputs in order; -1: not a tensor
  std::vector<int> results;   // slots of the results in order; -1: None
  int64_t arena_bytes = 0;
  std::shared_ptr<FusionTimes> fusion_times = {};  // of the steps that are fusions, in order: what runs take
};

/// Whether a step runs a fusion.
inline bool is_fusion(const Step& step) {
  return (step.kind == Step::Kind::kernel || step.kind == Step::Kind::call) && step.bound->is_fusion();
}

/// Throws InternalError for a trace that cannot run: a symbol without an implementation, a value nobody makes.
ExecutionPlan make_execution_plan(const Trace&);

/// A tensor of the slot's geometry without memory, for rules that look at strides.
Tensor geometry_only(const Slot&);

}  // namespace fulgurite
