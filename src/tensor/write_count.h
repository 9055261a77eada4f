#pragma once
#include "tensor/tensor_impl.h"

namespace fulgurite {

/// The version of a storage whose writes are not counted: an inference tensor's.
inline constexpr uint32_t uncounted = UINT32_MAX;

inline bool is_inference_tensor(const Tensor& tensor) {
  return tensor.impl()->storage->version.load(std::memory_order_relaxed) == uncounted;
}

/// Returns true if this thread is in inference mode. Defined in autograd/.
bool in_inference_mode();

/// Counts a write into the storage, which makes tensors saved from it stale.
inline void count_write(Storage& storage) {
  if (storage.version.load(std::memory_order_relaxed) != uncounted)
    storage.version.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace fulgurite
