#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <fulgurite/trace.h>

#include "implementation/implementation.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

struct ExecutionPlan;
class StepClock;

/// The metadata of an input of the last call.
struct InputRecord {
  Sizes sizes, strides;
  int64_t offset = 0;
  Dtype dtype = Dtype::f32;
  const void* storage = nullptr;  // identifies inputs of one call that share memory; null: not given, or never called
};

/// A vector whose memory comes from the block allocator, never from the heap.
using ResultList = std::vector<Tensor, detail::BlockAllocator<Tensor>>;

/// Bytes that a program retains between runs.
struct ProgramBytes {
  int64_t plan = 0;    // its steps and slots, and those of idle frames
  int64_t arenas = 0;  // of idle frames
};

/// Runs a program's trace instead of the program.
class ProgramRunner {
 public:
  virtual ~ProgramRunner() = default;
  virtual void run(std::span<const Tensor> inputs, std::vector<Tensor>& results) const = 0;
};

/// An execution trace: every symbol claimed (or structural), `del`s in place.
struct Executable {
  Executable(Trace last) : trace(std::move(last)) {}
  Executable(Trace last, std::optional<Trace> first, std::shared_ptr<const ProgramRunner> other = {})
      : trace(std::move(last)), recordable(std::move(first)), runner(std::move(other)) {}
  Trace trace;
  std::optional<Trace> recordable;  // the trace before ops with gradient rules of their own were decomposed
  std::shared_ptr<const ProgramRunner> runner = {};  // null: the program runs as planned
};

/// An executable trace: a flat list of steps with resolved kernels and one memory plan. Any number of threads may run
/// it.
class Program {
 public:
  /// Throws InternalError if the trace is not an execution trace.
  explicit Program(Executable executable);
  /// Compiled lazily: `make` is called on the first run or the first access to trace(); if it throws, it is called
  /// again next time.
  explicit Program(std::function<Executable()> make);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// `inputs` are the trace's args in order, collections flattened; undefined if the arg is None. `results` are the
  /// returned values in order, lists flattened; undefined for None. Results are fresh tensors, never memory of the
  /// plan; a result that is an input or a view of one aliases it. copy_ into an input writes into the tensor that was
  /// passed.
  void run(std::span<const Tensor> inputs, ResultList& results) const;
  void run(std::span<const Tensor> inputs, std::vector<Tensor>& results) const;

  const Trace& trace() const;
  /// The trace to retrace for differentiation: trace(), unless that was derived from another.
  const Trace& recordable() const;
  /// Returns true if the trace has been made.
  bool is_made() const;
  const ExecutionPlan& plan() const;
  std::vector<InputRecord> last_inputs() const;
  /// Subsequent runs notify the clock after each step; null: no clock.
  void time_steps(std::shared_ptr<StepClock>) const;
  /// Returns true if a ProgramRunner replaces it: none of its steps is run.
  bool runs_otherwise() const;
  /// Bytes of the memory plan.
  int64_t planned_bytes() const;
  ProgramBytes bytes() const;

 private:
  struct Impl;
  Impl& impl() const;
  template <class List>
  void run_into(std::span<const Tensor> inputs, List& results) const;
  mutable std::unique_ptr<Impl> impl_;
  mutable std::atomic<Impl*> made_ = nullptr;
  mutable std::mutex making_;
  std::function<Executable()> make_;
};

}  // namespace fulgurite
