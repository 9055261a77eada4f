// The metadata of a tensor handle, for a concrete tensor or for a value of a trace.
#include <fulgurite/error.h>
#include <fulgurite/tensor.h>
#include <fulgurite/value.h>

#include "support/base/deferred_error.h"
#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

namespace {

const TensorImpl& defined_impl(const Tensor& tensor, const char* what) {
  if (!tensor.defined()) {
    throw_deferred_error();
    throw UserError(
        text::cat(what, " of an undefined tensor: default-constructed, moved from, or a grad() before backward()"));
  }
  return *tensor.impl();
}

}  // namespace

Shape Tensor::shape() const {
  const TensorImpl& impl = defined_impl(*this, "shape()");
  if (impl.proxy) return impl.proxy->shape;
  return Shape(impl.sizes.data(), impl.sizes.size());
}

Shape Tensor::sizes() const { return shape(); }

Int Tensor::size(int dim) const {
  const TensorImpl& impl = defined_impl(*this, "size()");
  const int64_t count = ndim();
  const int64_t index = dim < 0 ? dim + count : dim;
  if (index < 0 || index >= count)
    throw UserError(text::cat("size(", dim, ") of ", type_text(*this), ": dimension out of range"));
  if (impl.proxy) return impl.proxy->shape[static_cast<size_t>(index)];
  return impl.sizes[static_cast<size_t>(index)];
}

int64_t Tensor::ndim() const {
  const TensorImpl& impl = defined_impl(*this, "ndim()");
  return static_cast<int64_t>(impl.proxy ? impl.proxy->shape.size() : impl.sizes.size());
}

Int Tensor::numel() const {
  const TensorImpl& impl = defined_impl(*this, "numel()");
  if (impl.proxy) return impl.proxy->shape.numel();
  return impl.numel();
}

Dtype Tensor::dtype() const {
  const TensorImpl& impl = defined_impl(*this, "dtype()");
  return impl.proxy ? impl.proxy->dtype : impl.dtype;
}

Device Tensor::device() const {
  const TensorImpl& impl = defined_impl(*this, "device()");
  return impl.proxy ? impl.proxy->device : impl.device;
}

Tensor Tensor::set_name(std::string name) const {
  defined_impl(*this, "set_name()");
  impl_->name = std::make_unique<std::string>(std::move(name));
  return *this;
}

std::string Tensor::name() const {
  const TensorImpl& impl = defined_impl(*this, "name()");
  if (impl.name) return *impl.name;
  return impl.proxy ? impl.proxy->name : std::string();
}

bool Tensor::requires_grad() const {
  const TensorImpl& impl = defined_impl(*this, "requires_grad()");
  if (impl.requires_grad || (impl.proxy && impl.proxy->requires_grad)) return true;
  // For a view whose base was written since it was made: its history is a part of the base's.
  return impl.base && impl.base->history != impl.base_history && impl.base->requires_grad;
}

std::string type_text(const Tensor& tensor) {
  if (!tensor.defined()) return "None";
  return text::cat(tensor.device().name(), " ", tensor.dtype(), tensor.shape());
}

}  // namespace fulgurite
