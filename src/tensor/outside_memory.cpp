#include <fulgurite/outside_memory.h>

#include <memory>

#include <fulgurite/error.h>

#include "support/text/text.h"
#include "tensor/same_memory.h"
#include "tensor/write_count.h"

namespace fulgurite {

namespace {

const TensorImpl& concrete(const Tensor& tensor, const char* what, SourceLocation at) {
  if (!tensor.defined()) throw UserError(text::cat(what, ": the tensor is undefined"), at);
  if (is_proxy(tensor)) throw UserError(text::cat(what, ": a value of a trace has no memory yet"), at);
  return *tensor.impl();
}

/// The bytes from the memory's begin that the elements reach to; an error for what cannot be laid out.
int64_t end_of(const Sizes& sizes, const Sizes& strides, int64_t offset, Dtype dtype, SourceLocation at) {
  Int last = offset;
  bool is_empty = false;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] < 0 || strides[d] < 0)
      throw UserError("OutsideMemory::tensor: sizes and strides must not be negative", at);
    is_empty = is_empty || sizes[d] == 0;
    if (sizes[d] > 0) last = last + Int(sizes[d] - 1) * Int(strides[d]);
  }
  return is_empty ? Int(0) : (last + 1) * Int(size_of(dtype));
}

void call_release(Storage* storage) {
  const std::unique_ptr<std::function<void()>> release(static_cast<std::function<void()>*>(storage->owner));
  (*release)();
}

Sizes small(const std::vector<int64_t>& numbers) {
  Sizes out;
  for (const int64_t n : numbers) out.push_back(n);
  return out;
}

}  // namespace

OutsideMemory OutsideMemory::adopt(void* data, int64_t bytes, std::function<void()> release, SourceLocation at) {
  if (bytes < 0) throw UserError(text::cat("OutsideMemory::adopt: ", bytes, " bytes"), at);
  if (!data && bytes > 0) throw UserError("OutsideMemory::adopt: data is a null pointer", at);
  static constexpr char nothing = 0;  // an address for what has no elements
  const StorageRef storage = borrow_storage(data ? data : const_cast<char*>(&nothing), bytes);
  OutsideMemory out;
  out.whole_ = make_view(storage, {bytes}, {1}, 0, Dtype::u8);
  if (release) {
    storage->owner = new std::function<void()>(std::move(release));
    storage->free = call_release;
  }
  return out;
}

int64_t OutsideMemory::bytes() const { return whole_.defined() ? whole_.impl()->storage->bytes : 0; }

Tensor OutsideMemory::tensor(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides, int64_t offset,
                             Dtype dtype, SourceLocation at) const {
  if (!whole_.defined()) throw UserError("OutsideMemory::tensor: no memory was adopted", at);
  if (sizes.size() != strides.size())
    throw UserError(text::cat("OutsideMemory::tensor: ", strides.size(), " strides for ", sizes.size(), " dimensions"),
                    at);
  const StorageRef& storage = whole_.impl()->storage;
  const Sizes shape = small(sizes), steps = small(strides);
  const int64_t end = end_of(shape, steps, offset, dtype, at);
  if (offset < 0 || end > storage->bytes)
    throw UserError(text::cat("OutsideMemory::tensor: the elements reach to byte ", end, " of ", storage->bytes), at);
  if (end > 0 && reinterpret_cast<uintptr_t>(storage->data) % static_cast<uintptr_t>(size_of(dtype)) != 0)
    throw UserError(text::cat("OutsideMemory::tensor: the memory is not aligned to the ", size_of(dtype),
                              " bytes of an element of ", dtype),
                    at);
  return make_view(storage, shape, steps, end > 0 ? offset : 0, dtype);
}

namespace {

/// The tensor whose memory this one's is, through any number of views.
const TensorImpl* viewed_by(const TensorImpl& impl) {
  const TensorImpl* root = &impl;
  while (root->base) root = root->base.get();
  return root;
}

}  // namespace

uint64_t write_count(const Tensor& tensor, SourceLocation at) {
  const TensorImpl& impl = concrete(tensor, "write_count", at);
  return is_inference_tensor(tensor) ? 0 : impl.storage->version.load(std::memory_order_relaxed);
}

bool shares_memory(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined() || is_proxy(a) != is_proxy(b)) return false;
  return is_proxy(a) ? viewed_by(*a.impl()) == viewed_by(*b.impl()) : a.impl()->storage == b.impl()->storage;
}

bool is_same_view(const Tensor& a, const Tensor& b) {
  return !(a.defined() && is_proxy(a)) && shares_memory(a, b) && is_same_memory(a, b);
}

Tensor alias(const Tensor& tensor, SourceLocation at) {
  const TensorImpl& impl = concrete(tensor, "alias", at);
  return make_view(impl.storage, impl.sizes, impl.strides, impl.offset, impl.dtype);
}

}  // namespace fulgurite
