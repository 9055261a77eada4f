#include "runtime/program.h"

#include <mutex>

#include "runtime/frame.h"

namespace fulgurite {

struct Program::Impl {
  explicit Impl(const Trace& trace) : plan(make_execution_plan(trace)), last_inputs(plan.inputs.size()) {}

  const ExecutionPlan plan;
  mutable std::mutex mutex;  // guards what follows
  mutable std::vector<std::unique_ptr<Frame>> free_frames;
  mutable std::vector<InputRecord> last_inputs;

  std::unique_ptr<Frame> take_frame() const {
    {
      const std::lock_guard lock(mutex);
      if (!free_frames.empty()) {
        std::unique_ptr<Frame> frame = std::move(free_frames.back());
        free_frames.pop_back();
        return frame;
      }
    }
    return std::make_unique<Frame>(plan);
  }
  void give_back(std::unique_ptr<Frame> frame) const {
    frame->release();
    const std::lock_guard lock(mutex);
    last_inputs.swap(frame->input_records());
    free_frames.push_back(std::move(frame));
  }
};

namespace {

/// A frame of a program for one run.
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

Program::Program(const Trace& trace) : impl_(std::make_unique<Impl>(trace)) {}
Program::~Program() = default;

void Program::run(std::span<const Tensor> inputs, ResultList& results) const {
  const Lease frame(*impl_);
  frame->run(inputs);
  frame->take_results(results);
}

void Program::run(std::span<const Tensor> inputs, std::vector<Tensor>& results) const {
  const Lease frame(*impl_);
  frame->run(inputs);
  frame->take_results(results);
}

const Trace& Program::trace() const { return impl_->plan.trace; }

std::vector<InputRecord> Program::last_inputs() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->last_inputs;
}

int64_t Program::planned_bytes() const { return impl_->plan.arena_bytes; }

}  // namespace fulgurite
