#include "tensor/memory/storage.h"

#include <fulgurite/error.h>

#include "support/text/text.h"
#include "tensor/memory/allocator.h"

namespace fulgurite {

namespace {

void free_allocated(Storage* storage) { deallocate(storage->data, static_cast<size_t>(storage->bytes)); }

}  // namespace

void retain(const Storage* storage) { storage->owners.fetch_add(1, std::memory_order_relaxed); }

void release(const Storage* storage) {
  if (storage->owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  auto* last = const_cast<Storage*>(storage);
  if (last->free != nullptr) last->free(last);
  delete last;
}

StorageRef allocate_storage(int64_t bytes, Device device) {
  if (device.kind != Device::Kind::cpu)
    throw UserError(text::cat("a tensor on ", device.name(), " was asked for, but this build has no CUDA; use cpu"));
  StorageRef storage(new Storage);
  storage->bytes = bytes < 1 ? 1 : bytes;
  storage->device = device;
  storage->data = allocate(static_cast<size_t>(storage->bytes));
  storage->free = free_allocated;
  return storage;
}

StorageRef borrow_storage(void* data, int64_t bytes, Device device) {
  StorageRef storage(new Storage);
  storage->data = data;
  storage->bytes = bytes;
  storage->device = device;
  return storage;
}

}  // namespace fulgurite
