#pragma once
#include <deque>
#include <memory>
#include <vector>

#include <fulgurite/trace.h>

#include "ops/core/rules.h"
#include "runtime/fusion_times.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

/// The origin of a value's memory.
enum class StorageClass : uint8_t {
  input,         // passed by the caller; its strides are known when the program runs
  arena,         // at a fixed offset in the arena
  fresh,         // allocated in each run: it outlives the run
  input_memory,  // written directly into the input that a copy_ would update, if that is contiguous; else allocated
  input_view,    // a view of an input, or a copy if its strides allow no view: decided when the program runs
  none,          // not computed: nothing reads it; its tensor is undefined
};

struct Geometry {
  Sizes sizes, strides;
};

/// A value of the trace. One of the slots that alias the same memory (views, results written over an operand) is the
/// root.
struct Slot {
  StorageClass storage_class = StorageClass::arena;
  Dtype dtype = Dtype::f32;
  const Geometry* geometry = nullptr;  // owned by the plan; shared by slots
  // For a view of memory that the program allocates, which is fully known when planning: relative to the root's first
  // element.
  int64_t offset = 0;
  int root = -1;             // itself, unless it is a view or reuses another value's buffer
  bool escapes = false;      // a result of the program: its tensor object must be a new one in each run
  int first = 0, last = 0;   // for a root: the steps between which it or a view of it is used
  int64_t arena_offset = 0;  // for a root in the arena, in bytes
  int destination = -1;      // for a value written directly into an input: that input

  const Sizes& sizes() const { return geometry->sizes; }
  const Sizes& strides() const { return geometry->strides; }
  int64_t element_count() const {
    int64_t count = 1;
    for (const int64_t size : sizes()) count *= size;
    return count;
  }
};

using Operands = SmallVector<int, 4>;

/// One step of a program.
struct Step {
  enum class Kind : uint8_t {
    kernel,      // results = kernel(arguments)
    call,        // results = a user-supplied function's results
    clone,       // result = a contiguous copy of `source`
    view,        // result = a view of its root, whose memory is not in the arena
    input_view,  // result = the view rule applied to the arguments, the first of which is `source`
    write,       // `source` is written into the memory of `result`
  };
  Kind kind = Kind::kernel;
  const BoundSymbol* bound = nullptr;  // the op whose arguments it has
  int result = -1, result_count = 0;   // consecutive slots
  int source = -1;
  Operands operands;  // slots of the tensors among the arguments, lists flattened; or `source`
};

/// An execution trace laid out for running: slots, steps in order, and each slot's storage. Shared by all runs.
struct ExecutionPlan {
  Trace trace;
  std::deque<Geometry> geometries;
  std::vector<Slot> slots;
  std::vector<Step> steps;
  std::vector<int> inputs;   // slots of the inputs in order; -1: not a tensor
  std::vector<int> results;  // slots of the results in order; -1: None
  int64_t arena_bytes = 0;
  std::shared_ptr<FusionTimes> fusion_times = {};  // durations of the steps that are fusions, in order
};

/// Returns true if a step runs a fusion.
inline bool is_fusion(const Step& step) {
  return (step.kind == Step::Kind::kernel || step.kind == Step::Kind::call) && step.bound->is_fusion();
}

/// Throws InternalError for a trace that cannot run: a symbol without an implementation, a value without a producer.
ExecutionPlan make_execution_plan(const Trace&);

/// A meta tensor of the slot's geometry, for rules that inspect strides.
Tensor geometry_only(const Slot&);

}  // namespace fulgurite
