// What a tensor handle says of itself without looking at elements: of a concrete tensor, or of the value of a trace it stands for.
#include <fulgurite/error.h>
#include <fulgurite/tensor.h>
#include <fulgurite/value.h>

#include "support/text.h"
#include "tensor/tensor_impl.h"
#include "tensor/write_count.h"

namespace fulgurite {

namespace {

const TensorImpl& defined_impl(const Tensor& tensor) {
  if (!tensor.defined()) throw UserError("an undefined tensor is used: it was made by Tensor() or moved from");
  return *tensor.impl();
}

}  // namespace

Shape Tensor::shape() const {
  const TensorImpl& impl = defined_impl(*this);
  if (impl.proxy) return impl.proxy->shape;
  return Shape(impl.sizes.data(), impl.sizes.size());
}

Int Tensor::size(int dim) const {
  const TensorImpl& impl = defined_impl(*this);
  const int64_t count = ndim();
  const int64_t index = dim < 0 ? dim + count : dim;
  if (index < 0 || index >= count)
    throw UserError(text::cat("size(", dim, ") of ", type_text(*this), ": dimension out of range"));
  if (impl.proxy) return impl.proxy->shape[static_cast<size_t>(index)];
  return impl.sizes[static_cast<size_t>(index)];
}

int64_t Tensor::ndim() const {
  const TensorImpl& impl = defined_impl(*this);
  return static_cast<int64_t>(impl.proxy ? impl.proxy->shape.size() : impl.sizes.size());
}

Int Tensor::numel() const {
  const TensorImpl& impl = defined_impl(*this);
  if (impl.proxy) return impl.proxy->shape.numel();
  return impl.numel();
}

Dtype Tensor::dtype() const {
  const TensorImpl& impl = defined_impl(*this);
  return impl.proxy ? impl.proxy->dtype : impl.dtype;
}

Device Tensor::device() const {
  const TensorImpl& impl = defined_impl(*this);
  return impl.proxy ? impl.proxy->device : impl.device;
}


Tensor Tensor::set_name(std::string name) const {
  defined_impl(*this);
  impl_->name = std::make_unique<std::string>(std::move(name));
  return *this;
}

std::string Tensor::name() const {
  const TensorImpl& impl = defined_impl(*this);
  if (impl.name) return *impl.name;
  return impl.proxy ? impl.proxy->name : std::string();
}

void Tensor::set_data(const Tensor& source) const {
  const TensorImpl& from = defined_impl(source);
  defined_impl(*this);
  if (impl_->proxy || from.proxy)
    throw UserError("set_data: a value of a trace being recorded has no storage; assign the handle");
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

bool Tensor::requires_grad() const {
  const TensorImpl& impl = defined_impl(*this);
  if (impl.requires_grad || (impl.proxy && impl.proxy->requires_grad)) return true;
  // Of a view whose base was written since it was made: its history is a part of the base's.
  return impl.base && impl.base->history != impl.base_history && impl.base->requires_grad;
}

Tensor Tensor::requires_grad_(bool value) const {
  defined_impl(*this);
  if (value && !is_floating(dtype()))
    throw UserError(text::cat("requires_grad_ of ", type_text(*this), ": only tensors of a floating dtype have a gradient"));
  if (impl_->proxy) {
    if (value == requires_grad()) return *this;
    throw UserError(text::cat("requires_grad_ of ", type_text(*this),
                              " inside a traced function: set it on the function's arguments before the call"));
  }
  if (value && impl_->storage && impl_->storage->version.load(std::memory_order_relaxed) == uncounted && !in_inference_mode())
    throw UserError(text::cat("requires_grad_ of ", type_text(*this), ", an inference tensor, outside of InferenceMode: clone() it first"));
  if (!value && !is_leaf())
    throw UserError(text::cat("requires_grad_(false) of ", type_text(*this),
                              ", which was computed from tensors that require grad; detach() gives it without its history"));
  impl_->requires_grad = value;
  return *this;
}

std::string type_text(const Tensor& tensor) {
  if (!tensor.defined()) return "None";
  return text::cat(tensor.device().name(), " ", tensor.dtype(), tensor.shape());
}

}  // namespace fulgurite
