#include "tensor/pending.h"

#include "support/thread_state.h"
#include "tensor/memory/allocator.h"

namespace fulgurite {

PendingValues* pending_values() { return thread_state.pending; }

PendingScope::PendingScope(PendingValues* values) : previous_(thread_state.pending) { thread_state.pending = values; }
PendingScope::~PendingScope() { thread_state.pending = previous_; }

Tensor make_pending_tensor(const Sizes& sizes, Dtype dtype, Device device) {
  const int64_t bytes = checked_bytes(sizes, dtype);
  return make_view(borrow_storage(nullptr, bytes < 1 ? 1 : bytes, device), sizes, contiguous_strides(sizes), 0, dtype);
}

void materialize(Storage& storage) {
  storage.data = allocate(static_cast<size_t>(storage.bytes));
  storage.free = [](Storage* s) { deallocate(s->data, static_cast<size_t>(s->bytes)); };
}

}  // namespace fulgurite
