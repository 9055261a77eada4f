#pragma once
#include <atomic>
#include <cstdint>

#include <fulgurite/detail/blocks.h>
#include <fulgurite/detail/ref.h>
#include <fulgurite/dtype.h>

namespace fulgurite {

/// Memory shared by tensors. `version` counts the writes into it; saved tensors compare it.
struct Storage : detail::Counted, detail::InBlocks {
  void* data = nullptr;
  int64_t bytes = 0;
  Device device;
  std::atomic<uint32_t> version{0};
  void (*free)(Storage*) = nullptr;  // null: `data` has another owner (an arena, a mapped file)
  void* owner = nullptr;             // for `free`
};
void retain(const Storage*);
void release(const Storage*);
using StorageRef = detail::Ref<Storage>;

/// A storage of at least one byte from the allocator, 64-byte aligned, uninitialised.
StorageRef allocate_storage(int64_t bytes, Device device = {});
/// A storage over memory that its owner keeps alive.
StorageRef borrow_storage(void* data, int64_t bytes, Device device = {});

}  // namespace fulgurite
