#pragma once
#include <memory>
#include <string>

#include <fulgurite/value.h>

#include "support/containers/small_vector.h"
#include "tensor/memory/storage.h"

namespace fulgurite {

using Sizes = SmallVector<int64_t, 6>;

/// What the autograd engine keeps beside a tensor; defined in autograd/.
struct AutogradMeta {
  virtual ~AutogradMeta() = default;
};

/// The object behind a Tensor handle: a strided view of a storage, or, while `proxy` is set, a value of a trace being recorded.
struct TensorImpl : detail::Counted, detail::InBlocks {
  // Concrete tensors. Sizes and strides count elements.
  StorageRef storage;
  Sizes sizes, strides;
  int64_t offset = 0;
  Dtype dtype = Dtype::f32;
  Device device;
  bool is_contiguous = true;
  bool requires_grad = false;

  // Proxies: the value this handle stands for, and the tracer that made it (its serial number, so that a handle which outlives
  // its trace is recognised).
  detail::Ref<TensorProxy> proxy;
  uint64_t tracer = 0;
  SourceLocation born;
  int view = -1;  // of a view: which of the tracer's
  uint16_t dynamic_dims = 0;  // a bit for each size that mark_dynamic() made a symbol

  std::unique_ptr<AutogradMeta> autograd;
  // Of a view that eager mode made: the tensor whose storage it shares, and how often that one's history had been replaced then. Of
  // one of a trace: the tensor it was made of, and how often that one had been written when `proxy` was recorded.
  detail::Ref<TensorImpl> base;
  uint32_t base_history = 0;
  uint32_t history = 0;  // how often an in-place write replaced this tensor's history; in a trace, its value
  std::unique_ptr<std::string> name;

  int64_t numel() const;
  char* data() const { return static_cast<char*>(storage->data) + offset * size_of(dtype); }
};
using TensorImplRef = detail::Ref<TensorImpl>;

/// A tensor of fresh, contiguous, uninitialised memory.
Tensor make_tensor(const Sizes& sizes, Dtype, Device = {});
/// Another view of `storage`.
Tensor make_view(StorageRef storage, const Sizes& sizes, const Sizes& strides, int64_t offset, Dtype);
Tensor make_proxy_tensor(detail::Ref<TensorProxy>, uint64_t tracer, SourceLocation born);
/// A tensor over memory that the caller keeps alive.
Tensor borrow_tensor(void* data, const Sizes& sizes, Dtype);

Sizes contiguous_strides(const Sizes& sizes);
/// What such a tensor takes, in bytes; an error where that does not fit an int64_t or a size is negative.
int64_t checked_bytes(const Sizes& sizes, Dtype);
/// Whether elements lie in row-major order without gaps (dimensions of size 1 do not matter; empty tensors are contiguous).
bool has_contiguous_strides(const Sizes& sizes, const Sizes& strides);
/// Sets is_contiguous from sizes and strides; call after changing them.
void update_contiguity(TensorImpl&);

/// "cpu f32[2, 3]", for a proxy and a concrete tensor.
std::string type_text(const Tensor&);
bool is_proxy(const Tensor&);

}  // namespace fulgurite
