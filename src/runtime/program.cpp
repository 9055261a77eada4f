#include "runtime/program.h"

#include <mutex>

#include "runtime/frame.h"
#include "runtime/step_clock.h"

namespace fulgurite {

namespace {

InputRecord record_of(const TensorImpl& impl) {
  return {impl.sizes, impl.strides, impl.offset, impl.dtype, impl.storage.get()};
}

}  // namespace

struct Program::Impl {
  explicit Impl(Executable executable)
      : plan(make_execution_plan(executable.trace)),
        recordable(std::move(executable.recordable)),
        runner(std::move(executable.runner)),
        last_inputs(plan.inputs.size()) {}

  const ExecutionPlan plan;
  const std::optional<Trace> recordable;
  const std::shared_ptr<const ProgramRunner> runner;
  mutable std::mutex mutex;  // guards the members below
  mutable std::vector<std::unique_ptr<Frame>> free_frames;
  mutable std::vector<InputRecord> last_inputs;
  mutable std::shared_ptr<StepClock> clock;

  std::unique_ptr<Frame> take_frame() const {
    std::unique_ptr<Frame> frame;
    std::shared_ptr<StepClock> timed_by;
    {
      const std::lock_guard lock(mutex);
      if (!free_frames.empty()) {
        frame = std::move(free_frames.back());
        free_frames.pop_back();
      }
      if (clock) [[unlikely]]
        timed_by = clock;
    }
    if (!frame) frame = std::make_unique<Frame>(plan);
    if (timed_by && timed_by->is_of_this_thread()) [[unlikely]]
      frame->time_steps(std::move(timed_by));
    return frame;
  }
  void give_back(std::unique_ptr<Frame> frame) const {
    frame->release();
    const std::lock_guard lock(mutex);
    last_inputs.swap(frame->input_records());
    free_frames.push_back(std::move(frame));
  }
  void run_otherwise(std::span<const Tensor> inputs, std::vector<Tensor>& results) const {
    std::vector<InputRecord> records;
    for (const Tensor& input : inputs) records.push_back(input.defined() ? record_of(*input.impl()) : InputRecord());
    {
      const std::lock_guard lock(mutex);
      last_inputs = std::move(records);
    }
    runner->run(inputs, results);
  }
};

namespace {

/// Leases a frame of a program for one run.
template <class Impl>
class Lease {
 public:
  explicit Lease(const Impl& impl) : impl_(impl), frame_(impl.take_frame()) {}
  ~Lease() { impl_.give_back(std::move(frame_)); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Frame* operator->() const { return frame_.get(); }

 private:
  const Impl& impl_;
  std::unique_ptr<Frame> frame_;
};

}  // namespace

Program::Program(Executable executable) : impl_(std::make_unique<Impl>(std::move(executable))), made_(impl_.get()) {}
Program::Program(std::function<Executable()> make) : make_(std::move(make)) {}
Program::~Program() = default;

Program::Impl& Program::impl() const {
  if (Impl* const made = made_.load(std::memory_order_acquire)) return *made;
  const std::lock_guard lock(making_);
  if (!impl_) impl_ = std::make_unique<Impl>(make_());
  made_.store(impl_.get(), std::memory_order_release);
  return *impl_;
}

bool Program::is_made() const { return made_.load(std::memory_order_acquire) != nullptr; }

template <class List>
void Program::run_into(std::span<const Tensor> inputs, List& results) const {
  const Impl& made = impl();
  if (made.runner) [[unlikely]] {
    std::vector<Tensor> given;
    made.run_otherwise(inputs, given);
    results.assign(given.begin(), given.end());
    return;
  }
  const Lease frame(made);
  frame->run(inputs);
  frame->take_results(results);
}

void Program::run(std::span<const Tensor> inputs, ResultList& results) const { run_into(inputs, results); }
void Program::run(std::span<const Tensor> inputs, std::vector<Tensor>& results) const { run_into(inputs, results); }

const ExecutionPlan& Program::plan() const { return impl().plan; }
const Trace& Program::trace() const { return impl().plan.trace; }
const Trace& Program::recordable() const { return impl().recordable ? *impl().recordable : trace(); }

std::vector<InputRecord> Program::last_inputs() const {
  const Impl& made = impl();
  const std::lock_guard lock(made.mutex);
  return made.last_inputs;
}

bool Program::runs_otherwise() const { return impl().runner != nullptr; }

void Program::time_steps(std::shared_ptr<StepClock> clock) const {
  const Impl& made = impl();
  const std::lock_guard lock(made.mutex);
  made.clock = std::move(clock);
}

int64_t Program::planned_bytes() const { return impl().plan.arena_bytes; }

ProgramBytes Program::bytes() const {
  ProgramBytes bytes;
  if (!is_made()) return bytes;
  const Impl& made = impl();
  const ExecutionPlan& plan = made.plan;
  bytes.plan = static_cast<int64_t>(plan.slots.size() * sizeof(Slot) + plan.steps.size() * sizeof(Step) +
                                    plan.geometries.size() * sizeof(Geometry));
  const std::lock_guard lock(made.mutex);
  for (const auto& frame : made.free_frames) {
    bytes.plan += frame->bytes();
    bytes.arenas += frame->arena_bytes();
  }
  return bytes;
}

}  // namespace fulgurite
