#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstddef>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::detail {

/// Memory for short-lived objects: tensors' objects, traces, lists of results. Freed blocks are cached and reused; they
/// are packed in huge pages if the system has them. Aligned to 16 bytes. Thread-safe. Throws std::bad_alloc.
void* allocate_block(size_t bytes);
void free_block(void*);

/// For standard containers.
template <class T>
struct BlockAllocator {
  using value_type = T;
  BlockAllocator() = default;
  template <class U>
  BlockAllocator(const BlockAllocator<U>&) {}
  T* allocate(size_t count) { return static_cast<T*>(allocate_block(count * sizeof(T))); }
  void deallocate(T* items, size_t) { free_block(items); }
  bool operator==(const BlockAllocator&) const { return true; }
};

/// For objects: `struct Thing : InBlocks`.
struct InBlocks {
  static void* operator new(size_t bytes) { return allocate_block(bytes); }
  static void operator delete(void* object) { free_block(object); }
};

}  // namespace fulgurite::detail
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
