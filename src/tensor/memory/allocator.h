#pragma once
#include <cstddef>
#include <cstdint>

namespace fulgurite {

/// Memory for storages. Freed blocks are kept, by size class, and given out again: writing fresh pages is several times
/// slower than writing touched ones. Blocks are 64-byte aligned; huge pages are asked for from 2 MiB. Thread-safe.
void* allocate(size_t bytes);
void deallocate(void* block, size_t bytes);

struct AllocatorStatistics {
  int64_t in_use = 0, kept = 0, peak_in_use = 0;  // bytes
};
AllocatorStatistics allocator_statistics();
void reset_peak_memory();
/// Returns all kept blocks to the system.
void release_kept_memory();

}  // namespace fulgurite
