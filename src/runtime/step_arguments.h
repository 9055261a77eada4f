#pragma once
#include <memory>
#include <span>
#include <vector>

#include "ops/core/argument.h"
#include "runtime/plan/execution_plan.h"

namespace fulgurite {

struct Parameter;

/// The arguments of one step in one frame, built once: tensors point to the frame's slots, so that a run updates only
/// the handles in lists of tensors.
class StepArguments {
 public:
  /// `slots` are the frame's; all must be defined, and must not move.
  StepArguments(const ExecutionPlan&, const Step&, std::span<const Tensor> slots);
  Arguments arguments() const { return {arguments_.get(), count_}; }
  size_t count() const { return count_; }
  /// Copies this run's handles into lists of tensors, and releases them.
  void refresh() {
    for (const Copy& copy : copies_) *copy.to = *copy.from;
  }
  void release() {
    for (const Copy& copy : copies_) *copy.to = Tensor();
  }

 private:
  struct Copy {
    Tensor* to;
    const Tensor* from;
  };
  struct Context {
    const ExecutionPlan& plan;
    const Step& step;
    std::span<const Tensor> slots;
    size_t next_operand = 0;
  };
  Argument convert(const Value&, Context&, const Parameter*);

  std::unique_ptr<Argument[]> arguments_;
  size_t count_ = 0;
  std::vector<Copy> copies_;
  // Storage for what the arguments point to.
  std::vector<std::unique_ptr<Tensor[]>> tensors_;
  std::vector<std::unique_ptr<Int[]>> integers_;
  std::vector<std::unique_ptr<Argument[]>> lists_;
  std::vector<std::unique_ptr<Slice>> slices_;
};

}  // namespace fulgurite
