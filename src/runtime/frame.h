#pragma once
#include <memory>
#include <span>
#include <vector>

#include "runtime/plan/execution_plan.h"
#include "runtime/program.h"
#include "runtime/step_arguments.h"
#include "runtime/step_clock.h"

namespace fulgurite {

/// The state of one run of a program: the arena, a tensor for each slot, the arguments of each step. Reused by later
/// runs, so that a run allocates only its results. A large arena is returned to the allocator between runs, so that
/// programs that do not run at the same time share it.
class Frame {
 public:
  explicit Frame(const ExecutionPlan&);
  ~Frame();
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  void run(std::span<const Tensor> inputs);
  /// Notifies `clock` of each step until the release.
  void time_steps(std::shared_ptr<StepClock> clock) { clock_ = std::move(clock); }
  /// The results of the run, undefined where they are None. Must be taken before the release.
  template <class List>
  void take_results(List& results) const {
    results.clear();
    results.reserve(plan_.results.size());
    for (const int slot : plan_.results) {
      if (slot < 0) results.emplace_back();
      else results.push_back(slots_[slot]);
    }
  }
  /// Releases everything that belongs to the caller; also called after a run that threw.
  void release();
  /// Approximate bytes held between runs, without the arena; and the arena's bytes.
  int64_t bytes() const;
  int64_t arena_bytes() const { return owns_arena_ ? 0 : arena_->bytes; }
  /// The metadata of the last run's inputs.
  std::vector<InputRecord>& input_records() { return input_records_; }

 private:
  /// A resolved view of an input, valid as long as the input's metadata is the same.
  struct InputView {
    bool is_known = false, is_copied = false;
    Sizes base_strides;
    int64_t base_offset = 0;
    ViewGeometry geometry;
  };
  struct FrameStep {
    StepArguments arguments;
    int input_view = -1;  // index of its InputView
    int fusion = -1;      // index among the plan's fusions
  };

  void return_arena();
  void take_inputs(std::span<const Tensor> inputs);
  void run_step(const Step&, FrameStep&);
  void prepare_result(int slot);
  template <class Run>
  void note_time(const FrameStep&, const Run&);
  void run_call(const Step&, FrameStep&);
  void run_view(const Step&);
  void run_input_view(const Step&, FrameStep&);
  void run_write(const Step&);
  void place_view(int slot, const StorageRef& storage, const Sizes& sizes, const Sizes& strides, int64_t offset);

  const ExecutionPlan& plan_;
  const bool owns_arena_;
  StorageRef arena_;
  std::vector<Tensor> slots_;
  std::vector<FrameStep> steps_;
  std::vector<InputView> input_views_;
  std::vector<InputRecord> input_records_;
  std::vector<uint64_t> fusion_ticks_;  // ticks that each fusion of the plan took in the run
  std::vector<int> transient_;          // slots whose tensors are new in each run
  std::shared_ptr<StepClock> clock_;
  std::vector<int> borrowing_;  // slots whose tensors are reused over the memory of one run
};

}  // namespace fulgurite
