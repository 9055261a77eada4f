// The strides of tensors. Inside a traced function they are facts about the arguments: reading them returns the
// recorded call's, and the cache entry is valid for tensors of the same layout.
#include <fulgurite/error.h>

#include "ops/core/dispatch.h"
#include "ops/core/recorder.h"
#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

namespace {

Sizes strides_of(const Tensor& tensor, const char* what) {
  if (!tensor.defined()) throw UserError(text::cat(what, " of an undefined tensor"));
  if (!is_proxy(tensor)) {  // inside a traced function, a captured one
    Recorder* const recording = innermost_recorder();
    return recording ? recording->strides_of(tensor) : tensor.impl()->strides;
  }
  Recorder* const recording = recording_of(tensor);
  if (!recording) throw UserError(text::cat(what, " of a tensor of a trace that has ended"), tensor.impl()->born);
  return recording->strides_of(tensor);
}

}  // namespace

std::vector<Int> Tensor::strides() const {
  if (const Recorder* const recording = defined() && is_proxy(*this) ? recording_of(*this) : nullptr;
      recording && recording->is_contiguous(*this)) {
    const Shape& shape = impl()->proxy->shape;
    std::vector<Int> strides(shape.size());
    Int step = 1;
    for (size_t i = shape.size(); i-- > 0;) {
      strides[i] = step;
      if (i > 0) step = !step.is_symbolic() && step.hint() == 1 ? shape[i] : step * shape[i];
    }
    return strides;
  }
  const Sizes strides = strides_of(*this, "strides()");
  return std::vector<Int>(strides.begin(), strides.end());
}

bool Tensor::is_contiguous() const {
  if (defined() && !is_proxy(*this) && !innermost_interpreter()) return impl()->is_contiguous;
  if (const Recorder* const recording = defined() ? recording_of(*this) : nullptr;
      recording && recording->is_contiguous(*this))
    return true;
  const Sizes strides = strides_of(*this, "is_contiguous()");
  Sizes sizes;
  for (const Int size : shape()) sizes.push_back(static_cast<int64_t>(size));
  return has_contiguous_strides(sizes, strides);
}

}  // namespace fulgurite
