#include "tensor/memory/allocator.h"

#include <pthread.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

#include "support/base/sanitizers.h"
#include "support/base/unlocated_error.h"
#include "support/context.h"
#include "support/text/text.h"
#include "tensor/memory/large_blocks.h"

namespace fulgurite {

namespace {

constexpr size_t alignment = 64;
constexpr int steps = 8;  // size classes in each power of two: at most an eighth of a block is unused
constexpr int smallest_power = 9;
constexpr int largest_power = 17;
static_assert(LargeBlocks::smallest == size_t{1} << largest_power);
constexpr int class_count = (largest_power - smallest_power) * steps + 8;

struct SizeClass {
  int index;
  size_t bytes;
};

SizeClass size_class(size_t bytes) {
  if (bytes <= 512) {
    const size_t units = bytes == 0 ? 1 : (bytes + alignment - 1) / alignment;
    return {static_cast<int>(units) - 1, units * alignment};
  }
  const int power = std::bit_width(bytes - 1) - 1;  // 2^power < bytes <= 2^(power + 1)
  const size_t step = (size_t{1} << power) / steps;
  const size_t over = (bytes - (size_t{1} << power) + step - 1) / step;
  return {8 + (power - smallest_power) * steps + static_cast<int>(over) - 1, (size_t{1} << power) + over * step};
}

// With sanitizers, blocks come from malloc and are freed immediately.
bool is_large(size_t size) { return size > LargeBlocks::smallest && !address_is_sanitized; }
void* system_allocate(size_t size) {
  return is_large(size) ? LargeBlocks::make(size) : std::aligned_alloc(alignment, size);
}

/// The first bytes of a cached block point to the next one of its class.
struct FreeBlock {
  FreeBlock* next;
};

}  // namespace

struct AllocatorPool {
  std::mutex mutex;
  FreeBlock* free[class_count] = {};
  int64_t small_kept = 0;  // bytes
  LargeBlocks large;
  AllocatorStatistics statistics;
  int64_t high_water = 0;  // the maximum of bytes in use, also after reset_peak_memory()

  int64_t kept() const { return small_kept + static_cast<int64_t>(large.kept_bytes()); }
  /// Returns cached blocks to the system, the large ones first, until at most `bytes` are left.
  void release_down_to(int64_t bytes) {
    large.release_down_to(static_cast<size_t>(std::max<int64_t>(0, bytes - small_kept)));
    if (kept() <= bytes) return;
    for (FreeBlock*& list : free) {
      while (list != nullptr) std::free(std::exchange(list, list->next));
    }
    small_kept = 0;
  }
  void* take(int index, size_t size) {
    if (address_is_sanitized) return nullptr;
    if (is_large(size)) return large.take(size);
    FreeBlock* block = free[index];
    if (block == nullptr) return nullptr;
    free[index] = block->next;
    small_kept -= static_cast<int64_t>(size);
    return block;
  }
  void put(void* block, int index, size_t size) {
    if (is_large(size)) return large.put(block);
    free[index] = new (block) FreeBlock{free[index]};
    small_kept += static_cast<int64_t>(size);
  }
  void took(int64_t bytes) {
    statistics.in_use += bytes;
    statistics.peak_in_use = std::max(statistics.peak_in_use, statistics.in_use);
    high_water = std::max(high_water, statistics.in_use);
  }
};

namespace {

AllocatorPool& pool();

/// A child of fork() must not inherit the mutex locked by a thread that it does not have.
AllocatorPool* make_pool() {
  pthread_atfork([] { pool().mutex.lock(); }, [] { pool().mutex.unlock(); }, [] { pool().mutex.unlock(); });
  return new AllocatorPool;
}

AllocatorPool& pool() { return context().pool.get(make_pool); }

}  // namespace

void* allocate(size_t bytes) {
  constexpr size_t limit = size_t{1} << 56;
  if (bytes > limit) throw UnlocatedError(text::cat("out of memory: ", bytes, " bytes were asked for"));
  const auto [index, size] = size_class(bytes);
  AllocatorPool& p = pool();
  const auto size_signed = static_cast<int64_t>(size);
  {
    const std::lock_guard lock(p.mutex);
    p.took(size_signed);
    if (void* block = p.take(index, size)) return block;
    // Limits the cache of a program whose sizes keep changing: its old blocks fit no request.
    constexpr int64_t slack = int64_t{256} << 20;
    const int64_t max_retained_bytes = p.high_water + p.high_water / 2 + slack - p.statistics.in_use;
    if (p.kept() > max_retained_bytes) p.release_down_to(max_retained_bytes);
  }
  void* block = system_allocate(size);
  if (block == nullptr) {
    release_kept_memory();
    block = system_allocate(size);
  }
  if (block == nullptr) {
    const std::lock_guard lock(p.mutex);
    p.statistics.in_use -= size_signed;
    throw UnlocatedError(
        text::cat("out of memory: ", bytes, " bytes were asked for, ", p.statistics.in_use, " are in use"));
  }
  return block;
}

void deallocate(void* block, size_t bytes) {
  const auto [index, size] = size_class(bytes);
  AllocatorPool& p = pool();
  {
    const std::lock_guard lock(p.mutex);
    p.statistics.in_use -= static_cast<int64_t>(size);
    if (!address_is_sanitized) return p.put(block, index, size);
  }
  std::free(block);
}

AllocatorStatistics allocator_statistics() {
  AllocatorPool& p = pool();
  const std::lock_guard lock(p.mutex);
  AllocatorStatistics statistics = p.statistics;
  statistics.kept = p.kept();
  return statistics;
}

void reset_peak_memory() {
  AllocatorPool& p = pool();
  const std::lock_guard lock(p.mutex);
  p.statistics.peak_in_use = p.statistics.in_use;
}

void release_kept_memory() {
  AllocatorPool& p = pool();
  const std::lock_guard lock(p.mutex);
  p.release_down_to(0);
}

}  // namespace fulgurite
