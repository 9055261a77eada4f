#include "tensor/tensor_impl.h"

#include <limits>

#include "support/base/unlocated_error.h"
#include "support/text/text.h"

namespace fulgurite {

int64_t checked_bytes(const Sizes& sizes, Dtype dtype) {
  int64_t bytes = size_of(dtype);
  bool empty = false, too_large = false;
  for (const int64_t size : sizes) {
    if (size < 0)
      throw UnlocatedError(
          text::cat("a tensor cannot have a negative size: [", text::join(sizes, [](int64_t n) { return n; }), "]"));
    if (size == 0) empty = true;
    else too_large = too_large || __builtin_mul_overflow(bytes, size, &bytes);
  }
  if (empty) return 0;
  // More than a process can address.
  if (too_large || bytes > int64_t{1} << 47)
    throw UnlocatedError(
        text::cat("a tensor of sizes [", text::join(sizes, [](int64_t n) { return n; }), "] is too large"));
  return bytes;
}

void retain(const TensorImpl* impl) { impl->owners.fetch_add(1, std::memory_order_relaxed); }

void release(const TensorImpl* impl) {
  if (impl->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete impl;
}

int64_t TensorImpl::numel() const {
  uint64_t product = 1;  // the other sizes of an empty tensor may have a product that overflows
  for (const int64_t size : sizes) product *= static_cast<uint64_t>(size);
  return static_cast<int64_t>(product);
}

Tensor make_tensor(const Sizes& sizes, Dtype dtype, Device device) {
  StorageRef storage = allocate_storage(checked_bytes(sizes, dtype), device);
  TensorImplRef impl(new TensorImpl);
  impl->storage = std::move(storage);
  impl->sizes = sizes;
  impl->strides = contiguous_strides(sizes);
  impl->dtype = dtype;
  impl->device = device;
  return Tensor(std::move(impl));
}

Tensor make_view(StorageRef storage, const Sizes& sizes, const Sizes& strides, int64_t offset, Dtype dtype) {
  TensorImplRef impl(new TensorImpl);
  impl->device = storage->device;
  impl->storage = std::move(storage);
  impl->sizes = sizes;
  impl->strides = strides;
  impl->offset = offset;
  impl->dtype = dtype;
  update_contiguity(*impl);
  return Tensor(std::move(impl));
}

Tensor make_proxy_tensor(detail::Ref<TensorProxy> proxy, uint64_t tracer, SourceLocation born) {
  TensorImplRef impl(new TensorImpl);
  impl->proxy = std::move(proxy);
  impl->tracer = tracer;
  impl->born = born;
  return Tensor(std::move(impl));
}

Tensor borrow_tensor(void* data, const Sizes& sizes, Dtype dtype) {
  return make_view(borrow_storage(data, checked_bytes(sizes, dtype)), sizes, contiguous_strides(sizes), 0, dtype);
}

Sizes contiguous_strides(const Sizes& sizes) {
  Sizes strides(sizes.size());
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    // Strides overflow only if there are no elements, which need no strides.
    if (sizes[i] > 1 && __builtin_mul_overflow(step, sizes[i], &step)) step = std::numeric_limits<int64_t>::max();
  }
  return strides;
}

bool has_contiguous_strides(const Sizes& sizes, const Sizes& strides) {
  int64_t step = 1;
  bool regular = true;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 0) return true;
    if (sizes[i] == 1) continue;
    regular = regular && strides[i] == step;
    if (__builtin_mul_overflow(step, sizes[i], &step)) step = std::numeric_limits<int64_t>::max();
  }
  return regular;
}

void update_contiguity(TensorImpl& impl) { impl.is_contiguous = has_contiguous_strides(impl.sizes, impl.strides); }

bool is_proxy(const Tensor& tensor) { return tensor.defined() && tensor.impl()->proxy; }

}  // namespace fulgurite
