#pragma once
#include <cstddef>
#include <cstdint>

namespace fulgurite {

/// Memory for storages. Freed blocks are cached by size class and reused: writing fresh pages is several times slower
/// than writing touched ones. Blocks are 64-byte aligned; from 2 MiB, huge pages are requested. Thread-safe.
void* allocate(size_t bytes);
void deallocate(void* block, size_t bytes);

struct AllocatorStatistics {
  int64_t in_use = 0, kept = 0, peak_in_use = 0;  // bytes
};
AllocatorStatistics allocator_statistics();
void reset_peak_memory();
/// Returns all cached blocks to the system.
void release_kept_memory();

}  // namespace fulgurite
