#pragma once
#include "codegen/device_lib/stream.h"
#include "executors/eager/kernels/common/wide.h"
#include "runtime/threads/store_fence.h"
#include "tensor/tensor_impl.h"

// Rows of results with optional non-temporal stores.
namespace fulgurite::FULGURITE_KERNELS {

/// Returns true if a result that overwrites none of the arguments should use non-temporal stores. Its kernel calls
/// finish_streamed_stores() on each thread.
inline bool is_streamed(const Tensor& result) {
  return result.impl()->numel() * size_of(result.impl()->dtype) >= streamed_bytes;
}

FULGURITE_INLINE void stream(double* to, const Doubles& value) {
  typedef double Part __attribute__((vector_size(part_bytes)));
  for (int i = 0; i < lanes; i += part_bytes / 8) {
    Part part;
    __builtin_memcpy(&part, value.lane + i, sizeof part);
    stream_part(to + i, part);
  }
}
/// Like store_up_to, from element `at` on, a multiple of sixteen.
template <class Element>
FULGURITE_INLINE void store_up_to(const ResultRow<Element>& row, int64_t at, const Wides<Element>& value,
                                  int64_t count) {
  if (row.is_streamed && count >= lanes) stream(row.first + at, value);
  else store_up_to(row.first + at, value, count);
}

/// Prefetches the memory some bytes after an element. By default that is usually the next row: memory is idle during a
/// row's later passes.
template <class Element>
FULGURITE_INLINE void prefetch_ahead(const Element* at, int64_t bytes = 4096) {
  __builtin_prefetch(reinterpret_cast<const char*>(at) + bytes);
}

}  // namespace fulgurite::FULGURITE_KERNELS
