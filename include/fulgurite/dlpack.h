#pragma once
// Tensors handed between libraries of one process without a copy, by the structures of DLPack. The header is not part
// of fulgurite.h: it needs DLPack's own (Debian: libdlpack-dev).
#include <fulgurite/detail/requirements.h>

#if !__has_include(<dlpack/dlpack.h>)
#error "fulgurite/dlpack.h needs <dlpack/dlpack.h>: install DLPack's header (Debian: libdlpack-dev)"
#endif
#include <dlpack/dlpack.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fulgurite/error.h>
#include <fulgurite/outside_memory.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

namespace fulgurite {

namespace detail {

/// DLPack's code of booleans, which headers before 0.7 lack.
inline constexpr uint8_t dlpack_boolean = 6;

inline DLDataType dlpack_type(Dtype dtype) {
  const auto type = [dtype](int code) {
    return DLDataType{static_cast<uint8_t>(code), static_cast<uint8_t>(8 * size_of(dtype)), 1};
  };
  if (dtype == Dtype::boolean) return type(dlpack_boolean);
  if (dtype == Dtype::bf16) return type(kDLBfloat);
  if (dtype == Dtype::u8) return type(kDLUInt);
  return type(is_floating(dtype) ? kDLFloat : kDLInt);
}

inline Dtype dtype_of_dlpack(const DLDataType& type, SourceLocation at) {
  for (int i = 0; i < dtype_count; ++i) {
    const DLDataType own = dlpack_type(static_cast<Dtype>(i));
    if (type.lanes == 1 && type.code == own.code && type.bits == own.bits) return static_cast<Dtype>(i);
  }
  throw UserError("from_dlpack: there is no dtype for elements of code " + std::to_string(type.code) + ", " +
                      std::to_string(type.bits) + " bits and " + std::to_string(type.lanes) + " lanes",
                  at);
}

inline std::vector<int64_t> dlpack_strides(const DLTensor& tensor) {
  const auto count = static_cast<size_t>(tensor.ndim);
  if (tensor.strides) return std::vector<int64_t>(tensor.strides, tensor.strides + count);
  std::vector<int64_t> out(count, 1);
  for (size_t i = count; i-- > 1;) out[i - 1] = out[i] * (tensor.shape[i] > 1 ? tensor.shape[i] : 1);
  return out;
}

/// The elements from the first one to the last one.
inline int64_t dlpack_extent(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                             SourceLocation at) {
  int64_t last = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return 0;
    if (sizes[i] > 1 && strides[i] < 0) throw UserError("from_dlpack: negative strides are not supported", at);
    last += (sizes[i] - 1) * strides[i];
  }
  return last + 1;
}

/// The memory that a managed tensor owns until its deleter is called.
struct DlpackExport {
  DLManagedTensor managed;
  Tensor tensor;
  std::vector<int64_t> sizes, strides;
};

}  // namespace detail

/// The tensor in another library's memory, without a copy; the tensor's deleter is called when nothing refers to the
/// memory any more. Takes ownership of `managed`, which is given back (deleted) where this throws. UserError for null,
/// other devices than the CPU, elements without a dtype and negative strides.
inline Tensor from_dlpack(DLManagedTensor* managed, SourceLocation at = SourceLocation::here()) {
  if (!managed) throw UserError("from_dlpack: the tensor is null", at);
  const std::shared_ptr<DLManagedTensor> owner(managed, [](DLManagedTensor* tensor) {
    if (tensor->deleter) tensor->deleter(tensor);
  });
  const DLTensor& given = managed->dl_tensor;
  if (static_cast<int>(given.device.device_type) != static_cast<int>(kDLCPU))
    throw UserError("from_dlpack: the tensor is on a device of type " +
                        std::to_string(static_cast<int>(given.device.device_type)) + ", not on the CPU (1)",
                    at);
  const Dtype dtype = detail::dtype_of_dlpack(given.dtype, at);
  const std::vector<int64_t> sizes(given.shape, given.shape + given.ndim);
  std::vector<int64_t> strides = detail::dlpack_strides(given);
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] <= 1) strides[i] = strides[i] > 0 ? strides[i] : 0;
  const int64_t bytes = detail::dlpack_extent(sizes, strides, at) * size_of(dtype);
  char* const data = static_cast<char*>(given.data) + given.byte_offset;
  return OutsideMemory::adopt(
             data, bytes, [owner] {}, at)
      .tensor(sizes, strides, 0, dtype, at);
}

/// The tensor for another library, without a copy: writes by either are seen by both. The caller calls the deleter.
/// UserError for undefined tensors and those that require gradients (call detach() first). While a function is traced
/// it causes a graph break.
inline DLManagedTensor* to_dlpack(const Tensor& tensor, SourceLocation at = SourceLocation::here()) {
  if (!tensor.defined()) throw UserError("to_dlpack: the tensor is undefined", at);
  if (tensor.requires_grad()) throw UserError("to_dlpack: the tensor requires gradients; call detach() first", at);
  auto out = std::make_unique<detail::DlpackExport>();
  out->tensor = tensor;
  out->sizes = tensor.shape().to_vector();
  for (const Int& stride : tensor.strides()) out->strides.push_back(stride);
  DLTensor& made = out->managed.dl_tensor;
  made.data = tensor.data_pointer(at);
  made.device.device_type = kDLCPU;
  made.device.device_id = 0;
  made.ndim = static_cast<int>(out->sizes.size());
  made.dtype = detail::dlpack_type(tensor.dtype());
  made.shape = out->sizes.data();
  made.strides = out->strides.data();
  made.byte_offset = 0;
  out->managed.manager_ctx = out.get();
  out->managed.deleter = [](DLManagedTensor* self) { delete static_cast<detail::DlpackExport*>(self->manager_ctx); };
  return &out.release()->managed;
}

}  // namespace fulgurite

#include <fulgurite/detail/restore_macros.h>
