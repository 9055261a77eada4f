#pragma once
#include "codegen/device_lib/stream.h"
#include "executors/eager/kernels/common/wide.h"
#include "runtime/threads/store_fence.h"
#include "tensor/tensor_impl.h"

// Rows of results that may be stored past the caches.
namespace fulgurite::FULGURITE_KERNELS {

/// Whether a result that is written over none of the arguments is. Who writes it calls finish_streamed_stores() on each thread.
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
/// As store_up_to, from element `at` on, a multiple of sixteen.
template <class Element>
FULGURITE_INLINE void store_up_to(const ResultRow<Element>& row, int64_t at, const Wides<Element>& value, int64_t count) {
  if (row.is_streamed && count >= lanes) stream(row.first + at, value);
  else store_up_to(row.first + at, value, count);
}

/// Asks for what lies some bytes behind an element. By default that is the next row, mostly: while a row's later passes run, the memory has
/// nothing else to do.
template <class Element>
FULGURITE_INLINE void ask_ahead(const Element* at, int64_t bytes = 4096) {
  __builtin_prefetch(reinterpret_cast<const char*>(at) + bytes);
}

}  // namespace fulgurite::FULGURITE_KERNELS
