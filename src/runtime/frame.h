#pragma once
#include <memory>
#include <span>
#include <vector>

#include "runtime/plan/execution_plan.h"
#include "runtime/program.h"
#include "runtime/step_arguments.h"
#include "runtime/step_clock.h"

namespace fulgurite {

/// What one run of a program at a time works in: the arena, a tensor for each slot, the arguments of each step. Kept between
/// runs, so that a run allocates nothing but its results. The memory of a large arena is the allocator's between runs: programs that do not
/// run at the same time share it.
class Frame {
 public:
  explicit Frame(const ExecutionPlan&);
  ~Frame();
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  void run(std::span<const Tensor> inputs);
  /// Tells it of the steps until the release.
  void time_steps(std::shared_ptr<StepClock> clock) { clock_ = std::move(clock); }
  /// The results of the run, undefined where they are None. To be taken before the release.
  template <class List>
  void take_results(List& results) const {
    results.clear();
    results.reserve(plan_.results.size());
    for (const int slot : plan_.results) {
      if (slot < 0) results.emplace_back();
      else results.push_back(slots_[slot]);
    }
  }
  /// Lets go of everything that belongs to the caller; also after a run that threw.
  void release();
  /// What it takes between runs beside the arena, about; and the arena.
  int64_t bytes() const;
  int64_t arena_bytes() const { return owns_arena_ ? 0 : arena_->bytes; }
  /// How the inputs of the last run looked.
  std::vector<InputRecord>& input_records() { return input_records_; }

 private:
  /// What an input's view came to, as long as the input looks the same.
  struct InputView {
    bool is_known = false, is_copied = false;
    Sizes base_strides;
    int64_t base_offset = 0;
    ViewGeometry geometry;
  };
  struct FrameStep {
    StepArguments arguments;
    int input_view = -1;  // index of its InputView
    int fusion = -1;      // which of the plan's fusions it is
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
  std::vector<uint64_t> fusion_ticks_;  // what each fusion of the plan took in the run
  std::vector<int> transient_;  // slots whose tensors are new in each run
  std::shared_ptr<StepClock> clock_;
  std::vector<int> borrowing_;  // slots whose tensors stay, over memory of one run
};

}  // namespace fulgurite
