// Tensors with chosen strides, and changes of sizes and strides in place.
#include <cmath>
#include <cstring>

#include <fulgurite/error.h>
#include <fulgurite/libtorch_names.h>
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "support/text/text.h"
#include "tensor/pending.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

namespace {

TensorImpl& changeable(const Tensor& tensor, const char* name, SourceLocation at) {
  if (!tensor.defined()) throw UserError(text::cat(name, ": the tensor is undefined"), at);
  const std::string plain(name, std::strlen(name) - 1);  // without the underscore
  if (is_proxy(tensor))
    throw UserError(text::cat(name, " of a value of a trace; assign the result of ", plain, " instead"), at);
  if (tensor.requires_grad())
    throw UserError(text::cat(name, " of ", type_text(tensor), ", which requires a gradient; assign the result of ",
                              plain, " instead"),
                    at);
  act_immediately(name, at);
  need_elements(*tensor.impl());
  return *tensor.impl();
}

/// Gives the tensor the sizes and strides of a view of itself.
Tensor reshaped_as(const Tensor& tensor, const Tensor& view) {
  TensorImpl& impl = *tensor.impl();
  impl.sizes = view.impl()->sizes;
  impl.strides = view.impl()->strides;
  update_contiguity(impl);
  return tensor;
}

}  // namespace

Tensor TensorMembers::squeeze_(const Dims& dim, SourceLocation at) const {
  const auto& self = static_cast<const Tensor&>(*this);
  changeable(self, "squeeze_", at);
  return reshaped_as(self, self.squeeze(dim, at));
}

Tensor TensorMembers::unsqueeze_(Int dim, SourceLocation at) const {
  const auto& self = static_cast<const Tensor&>(*this);
  changeable(self, "unsqueeze_", at);
  return reshaped_as(self, self.unsqueeze(dim, at));
}

Tensor TensorMembers::transpose_(Int dim0, Int dim1, SourceLocation at) const {
  const auto& self = static_cast<const Tensor&>(*this);
  changeable(self, "transpose_", at);
  return reshaped_as(self, self.transpose(dim0, dim1, at));
}

Tensor TensorMembers::swapaxes_(Int dim0, Int dim1, SourceLocation at) const { return transpose_(dim0, dim1, at); }

Tensor TensorMembers::t_(SourceLocation at) const {
  const auto& self = static_cast<const Tensor&>(*this);
  changeable(self, "t_", at);
  return reshaped_as(self, t(at));
}

Tensor TensorMembers::resize_(const Dims& size, SourceLocation at) const {
  const auto& self = static_cast<const Tensor&>(*this);
  TensorImpl& impl = changeable(self, "resize_", at);
  Sizes sizes;
  for (const Int n : size) sizes.push_back(n.hint());
  const int64_t bytes = checked_bytes(sizes, impl.dtype), start = impl.offset * size_of(impl.dtype);
  if (start + bytes > impl.storage->bytes) {
    StorageRef larger = allocate_storage(start + bytes, impl.device);
    std::memcpy(larger->data, impl.storage->data, static_cast<size_t>(impl.storage->bytes));
    impl.storage = std::move(larger);
    impl.base = TensorImplRef();
  }
  impl.sizes = sizes;
  impl.strides = contiguous_strides(sizes);
  update_contiguity(impl);
  return self;
}

Tensor TensorMembers::resize_as_(const Tensor& other, SourceLocation at) const {
  if (!other.defined()) throw UserError("resize_as_: the other tensor is undefined", at);
  return resize_(other.shape(), at);
}

Tensor empty_strided(const Dims& size, const Dims& stride, const TensorOptions& options, SourceLocation at) {
  if (size.size() != stride.size())
    throw UserError(text::cat("empty_strided: size has ", size.size(), " numbers and stride ", stride.size()), at);
  Int extent = 1;
  for (size_t d = 0; d < size.size(); ++d) {
    if (size[d] < 0 || stride[d] < 0)
      throw UserError(text::cat("empty_strided: sizes and strides must not be negative: ", size, " and ", stride), at);
    extent = extent + (size[d] - 1) * stride[d];
  }
  TensorOptions plain = options;
  plain.requires_grad = false;
  if (size.numel() == 0) extent = 0;
  const Tensor memory = empty({extent}, plain, at), strided = prims::as_strided(memory, size, stride, 0, at);
  return options.requires_grad ? strided.detach(at).requires_grad_() : strided;
}

Tensor range(double start, double end, double step, const TensorOptions& options, SourceLocation at) {
  const double count = std::floor((end - start) / step) + 1;
  if (!(step != 0 && std::isfinite(count) && (end - start) / step >= 0))
    throw UserError(text::cat("range: step must lead from start to end: ", start, ", ", end, ", ", step), at);
  const Tensor numbers = arange(static_cast<int64_t>(count), {.dtype = Dtype::f64, .device = options.device}, at);
  const Tensor values = add(mul(numbers, step, at), start, 1, at).to(options.dtype.value_or(default_dtype()), at);
  return options.requires_grad ? values.requires_grad_() : values;
}

}  // namespace fulgurite
