#pragma once
#include <memory>
#include <vector>

#include <fulgurite/trace.h>

#include "executors/executor.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

/// How an input of the last call looked.
struct InputRecord {
  Sizes sizes, strides;
  int64_t offset = 0;
  Dtype dtype = Dtype::f32;
};

/// A list that asks nothing of the heap.
using ResultList = std::vector<Tensor, detail::BlockAllocator<Tensor>>;

/// A trace made runnable: a flat list of steps with resolved kernels and one memory plan. Any number of threads may run it.
class Program {
 public:
  /// From an execution trace: every symbol claimed (or structural), `del`s in place. Throws InternalError otherwise.
  explicit Program(const Trace& trace);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// `inputs` are the trace's args in order, collections opened; undefined where the arg is None. `results` are the values of the
  /// return in order, lists opened; undefined for None. Results are fresh tensors, never memory of the plan; a result that is an input
  /// or a view of one shares it. copy_ into an input writes into the tensor that was given.
  void run(std::span<const Tensor> inputs, ResultList& results) const;
  void run(std::span<const Tensor> inputs, std::vector<Tensor>& results) const;

  const Trace& trace() const;
  std::vector<InputRecord> last_inputs() const;
  /// Bytes of the memory plan.
  int64_t planned_bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fulgurite
