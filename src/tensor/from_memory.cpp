// Tensors that alias or copy the program's own memory.
#include <cstring>

#include <fulgurite/error.h>
#include <fulgurite/memory.h>

#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

namespace {

Sizes checked_sizes(const Shape& shape, const char* what, SourceLocation at) {
  Sizes out;
  for (const int64_t number : shape) {
    if (number < 0) throw UserError(text::cat("from_blob: ", what, " ", shape, " has a negative number"), at);
    out.push_back(number);
  }
  return out;
}

/// The bytes from the first element to the end of the last.
int64_t span_in_bytes(const Sizes& sizes, const Sizes& strides, Dtype dtype) {
  int64_t last = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return 0;
    last = Int(last) + Int(sizes[d] - 1) * Int(strides[d]);  // checked for overflow
  }
  return (Int(last) + 1) * Int(size_of(dtype));
}

using Deleter = std::function<void(void*)>;

void call_deleter(Storage* storage) {
  const std::unique_ptr<Deleter> deleter(static_cast<Deleter*>(storage->owner));
  (*deleter)(storage->data);
}

Tensor over_memory(void* data, const Sizes& sizes, const Sizes& strides, const TensorOptions& options, Deleter deleter,
                   SourceLocation at) {
  const Dtype dtype = options.dtype.value_or(default_dtype());
  if (options.requires_grad && !is_floating(dtype))
    throw UserError(text::cat("from_blob: requires_grad with dtype ", dtype, ": only floating tensors have a gradient"),
                    at);
  if (options.device != Device())
    throw UserError(text::cat("from_blob: device ", options.device.name(), ": only memory of the CPU can be used"), at);
  const int64_t bytes = span_in_bytes(sizes, strides, dtype);
  if (!data && bytes > 0) throw UserError("from_blob: data is a null pointer", at);
  if (reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(size_of(dtype)) != 0)
    throw UserError(
        text::cat("from_blob: data is not aligned to the ", size_of(dtype), " bytes of an element of ", dtype), at);
  if (!data) return make_tensor(sizes, dtype);  // no elements: nothing to share
  const StorageRef storage = borrow_storage(data, bytes, options.device);
  const Tensor out = make_view(storage, sizes, strides, 0, dtype);
  if (deleter) {
    storage->owner = new Deleter(std::move(deleter));
    storage->free = call_deleter;
  }
  return options.requires_grad ? out.requires_grad_() : out;
}

}  // namespace

Tensor from_blob(void* data, const Shape& shape, const TensorOptions& options, Deleter deleter, SourceLocation at) {
  const Sizes sizes = checked_sizes(shape, "the shape", at);
  return over_memory(data, sizes, contiguous_strides(sizes), options, std::move(deleter), at);
}

Tensor from_blob(void* data, const Shape& shape, const detail::Given<Dims>& strides, const TensorOptions& options,
                 Deleter deleter, SourceLocation at) {
  const Dims& steps = strides;
  if (steps.size() != shape.size())
    throw UserError(text::cat("from_blob: ", steps.size(), " strides for ", shape.size(), " dimensions"), at);
  return over_memory(data, checked_sizes(shape, "the shape", at), checked_sizes(steps, "the list of strides", at),
                     options, std::move(deleter), at);
}

Tensor detail::copy_of_elements(const void* elements, Dtype dtype, size_t count, const Shape& shape,
                                const TensorOptions& options, SourceLocation at) {
  Sizes sizes;
  for (const int64_t size : shape) sizes.push_back(size);
  if (checked_bytes(sizes, dtype) != static_cast<int64_t>(count) * size_of(dtype))
    throw UserError(text::cat("tensor: ", count, " elements do not fill shape ", shape), at);
  const Dtype wanted = options.dtype.value_or(dtype);
  if (options.requires_grad && !is_floating(wanted))
    throw UserError(text::cat("tensor: requires_grad with dtype ", wanted, ": only floating tensors have a gradient"),
                    at);
  Tensor out = make_tensor(sizes, dtype, options.device);
  if (count > 0) std::memcpy(out.impl()->data(), elements, count * static_cast<size_t>(size_of(dtype)));
  if (wanted != dtype) out = out.to(wanted, at);
  return options.requires_grad ? out.requires_grad_() : out;
}

}  // namespace fulgurite
