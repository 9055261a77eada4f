#pragma once
#include <atomic>
#include <cstdint>

#include <fulgurite/detail/blocks.h>
#include <fulgurite/detail/ref.h>
#include <fulgurite/dtype.h>

namespace fulgurite {

/// Memory that tensors share. `version` counts the writes into it; saved tensors compare it.
struct Storage : detail::Counted, detail::InBlocks {
  void* data = nullptr;
  int64_t bytes = 0;
  Device device;
  std::atomic<uint32_t> version{0};
  void (*free)(Storage*) = nullptr;  // null: `data` belongs to somebody else (an arena, a mapped file)
  void* owner = nullptr;             // for `free`
};
void retain(const Storage*);
void release(const Storage*);
using StorageRef = detail::Ref<Storage>;

/// A storage of at least one byte from the allocator, 64-byte aligned, not initialised.
StorageRef allocate_storage(int64_t bytes, Device device = {});
/// A storage over memory that somebody else owns and keeps alive.
StorageRef borrow_storage(void* data, int64_t bytes, Device device = {});

}  // namespace fulgurite
