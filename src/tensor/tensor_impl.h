#pragma once
#include <memory>
#include <string>

#include <fulgurite/value.h>

#include "support/containers/small_vector.h"
#include "tensor/memory/storage.h"

namespace fulgurite {

using Sizes = SmallVector<int64_t, 6>;

/// The autograd engine's state of a tensor; defined in autograd/.
struct AutogradMeta {
  virtual ~AutogradMeta() = default;
};

/// The object behind a Tensor handle: a strided view of a storage or, if `proxy` is set, a value of a trace being
/// recorded.
struct TensorImpl : detail::Counted, detail::InBlocks {
  // Concrete tensors. Sizes and strides count elements.
  StorageRef storage;
  Sizes sizes, strides;
  int64_t offset = 0;
  Dtype dtype = Dtype::f32;
  Device device;
  bool is_contiguous = true;
  bool requires_grad = false;
  bool of_custom_function = false;  // a view that forward() of a custom function returned, or a view of one

  // Proxies: the value of this handle, and the serial number of its tracer, which identifies a handle that outlives its
  // trace.
  detail::Ref<TensorProxy> proxy;
  uint64_t tracer = 0;
  SourceLocation born;
  int view = -1;              // of a view: its index in the tracer
  uint16_t dynamic_dims = 0;  // a bit for each size that mark_dynamic() made a symbol

  std::unique_ptr<AutogradMeta> autograd;
  // For views made in eager mode: the tensor whose storage it shares, and the number of replacements of that one's
  // history by then. For views in a trace: the viewed tensor, and the number of writes into it when `proxy` was
  // recorded.
  detail::Ref<TensorImpl> base;
  uint32_t base_history = 0;
  uint32_t history = 0;  // the number of in-place writes that replaced this tensor's history; in a trace, its value
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
/// The size of such a tensor in bytes; throws if it does not fit an int64_t or a size is negative.
int64_t checked_bytes(const Sizes& sizes, Dtype);
/// Returns true if elements are contiguous in row-major order (dimensions of size 1 do not matter; empty tensors are
/// contiguous).
bool has_contiguous_strides(const Sizes& sizes, const Sizes& strides);
/// Sets is_contiguous from sizes and strides; call after changing them.
void update_contiguity(TensorImpl&);

/// "cpu f32[2, 3]", for a proxy or a concrete tensor.
std::string type_text(const Tensor&);
bool is_proxy(const Tensor&);

}  // namespace fulgurite
