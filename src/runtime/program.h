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

/// How an input of the last call looked.
struct InputRecord {
  Sizes sizes, strides;
  int64_t offset = 0;
  Dtype dtype = Dtype::f32;
  const void* storage = nullptr;  // tells inputs of one call that share memory; null: not given, or never called
};

/// A list that asks nothing of the heap.
using ResultList = std::vector<Tensor, detail::BlockAllocator<Tensor>>;

/// What a program keeps between runs, in bytes.
struct ProgramBytes {
  int64_t plan = 0;    // its steps and slots, and those of the frames that nobody runs in
  int64_t arenas = 0;  // of these frames
};

/// Runs a program's trace in the program's place.
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
  std::optional<Trace> recordable;  // the same before what has a gradient rule of its own was replaced by its parts
  std::shared_ptr<const ProgramRunner> runner = {};  // null: the program runs as it is planned
};

/// A trace made runnable: a flat list of steps with resolved kernels and one memory plan. Any number of threads may run it.
class Program {
 public:
  /// Throws InternalError where the trace is not an execution trace.
  explicit Program(Executable executable);
  /// Of the trace that `make` gives when the program is first run or its trace asked for; `make` may throw, and is asked again then.
  explicit Program(std::function<Executable()> make);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// `inputs` are the trace's args in order, collections opened; undefined where the arg is None. `results` are the values of the
  /// return in order, lists opened; undefined for None. Results are fresh tensors, never memory of the plan; a result that is an input
  /// or a view of one shares it. copy_ into an input writes into the tensor that was given.
  void run(std::span<const Tensor> inputs, ResultList& results) const;
  void run(std::span<const Tensor> inputs, std::vector<Tensor>& results) const;

  const Trace& trace() const;
  /// What may be recorded again to be differentiated: the trace, where it was not made of another.
  const Trace& recordable() const;
  /// Whether the trace is there.
  bool is_made() const;
  const ExecutionPlan& plan() const;
  std::vector<InputRecord> last_inputs() const;
  /// Runs that begin from now on tell it when each step is done; null: nobody.
  void time_steps(std::shared_ptr<StepClock>) const;
  /// Another runner has its place: no step of it is run.
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
