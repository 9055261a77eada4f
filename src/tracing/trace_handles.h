#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include <fulgurite/trace.h>

#include "tensor/tensor_impl.h"

namespace fulgurite {

/// The handles of a recording: tensors without memory that stand for values of its trace.
///
/// Invariant: each has the serial number of its recording's trace, by which one that outlives it is recognized.
class TraceHandles {
 public:
  TraceHandles() { begin_trace(); }
  TraceHandles(const TraceHandles&) = delete;
  TraceHandles& operator=(const TraceHandles&) = delete;

  Tensor make(const detail::Ref<TensorProxy>& value, SourceLocation at);
  bool contains(const Tensor& handle) const { return handle.impl()->tracer == serial_; }
  /// Begins another trace: the handles that exist are not those of its values.
  void begin_trace();

  /// Keeps a list of the handles that are alive from now on.
  void list_living();
  /// Those on the list, in the order of their creation.
  std::vector<Tensor> living() const;

 private:
  class Living;

  uint64_t serial_ = 0;
  std::shared_ptr<Living> living_;  // null: none are listed
};

/// The error for a handle that is used while its trace is not being recorded.
[[noreturn]] void refuse_stray_proxy(const Tensor&);

}  // namespace fulgurite
