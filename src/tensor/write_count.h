#pragma once
#include "tensor/tensor_impl.h"

namespace fulgurite {

/// The version of a storage whose writes nobody counts: an inference tensor's.
inline constexpr uint32_t uncounted = UINT32_MAX;

inline bool is_inference_tensor(const Tensor& tensor) {
  return tensor.impl()->storage->version.load(std::memory_order_relaxed) == uncounted;
}

/// Whether this thread is in inference mode. Defined in autograd/.
bool in_inference_mode();

/// Says that the storage was written, so that what was saved of it for a backward is known to be stale.
inline void count_write(Storage& storage) {
  if (storage.version.load(std::memory_order_relaxed) != uncounted) storage.version.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace fulgurite
