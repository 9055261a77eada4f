#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "tensor/tensor_impl.h"

namespace fulgurite {

/// Views that custom functions return in a trace. A custom function is one op, whose result is a value of its own: no
/// write can reach what the result views.
///
/// Invariant: after a write into either, the other one is not used: it is refused.
class FunctionViews {
 public:
  /// Notes that a custom function's result shares the memory of `viewed`, or of what that views.
  void note(const Tensor& result, const Tensor& viewed);
  /// Refuses a write into such a result, or into a view of one.
  void check_is_not_written(const Tensor& written) const;
  /// Refuses such a result if the tensor that it shares memory with has been written since.
  void check_is_current(const TensorImpl& handle) const;
  /// At a break: those that are tensors with memory now are marked as eager mode marks them, and all are forgotten.
  /// `concrete_of` gives the tensor that a handle represents.
  void leave(const std::function<Tensor(const Tensor&)>& concrete_of);

 private:
  struct View {
    Tensor handle, root;
    uint32_t history = 0;  // how often the root had been written
  };
  std::vector<View> views_;
};

}  // namespace fulgurite
