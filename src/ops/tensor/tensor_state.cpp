// Changes of a tensor object itself: its storage and requires_grad.
#include <fulgurite/error.h>
#include <fulgurite/tensor.h>

#include "ops/core/dispatch.h"
#include "support/text/text.h"
#include "tensor/tensor_impl.h"
#include "tensor/write_count.h"

namespace fulgurite {

namespace {

void check_defined(const Tensor& tensor, const char* what) {
  if (!tensor.defined()) throw UserError(text::cat(what, " of an undefined tensor"));
}

}  // namespace

void Tensor::set_data(const Tensor& source) const {
  check_defined(*this, "set_data()");
  check_defined(source, "set_data() with the memory");
  const TensorImpl& from = *source.impl();
  if (impl_->proxy || from.proxy)
    throw UserError("set_data: a value of a trace being recorded has no storage; assign the handle");
  act_immediately("set_data()", {});
  TensorImpl& to = *impl_;
  to.storage = from.storage;
  to.sizes = from.sizes;
  to.strides = from.strides;
  to.offset = from.offset;
  to.dtype = from.dtype;
  to.device = from.device;
  to.is_contiguous = from.is_contiguous;
  to.base = TensorImplRef();
}

Tensor Tensor::requires_grad_(bool value) const {
  check_defined(*this, "requires_grad_()");
  if (value && !is_floating(dtype()))
    throw UserError(
        text::cat("requires_grad_ of ", type_text(*this), ": only tensors of a floating dtype have a gradient"));
  if (impl_->proxy) {
    if (value == requires_grad()) return *this;
    throw UserError(text::cat("requires_grad_ of ", type_text(*this),
                              " inside a traced function: set it on the function's arguments before the call"));
  }
  if (value && impl_->storage && impl_->storage->version.load(std::memory_order_relaxed) == uncounted &&
      !in_inference_mode())
    throw UserError(text::cat("requires_grad_ of ", type_text(*this),
                              ", an inference tensor, outside of InferenceMode: clone() it first"));
  if (!value && !is_leaf())
    throw UserError(
        text::cat("requires_grad_(false) of ", type_text(*this),
                  ", which was computed from tensors that require grad; detach() gives it without its history"));
  if (impl_->requires_grad != value) act_immediately("requires_grad_()", {});
  impl_->requires_grad = value;
  return *this;
}

}  // namespace fulgurite
