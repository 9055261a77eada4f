#include "tensor/allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

#include "support/sanitizers.h"
#include "support/text.h"
#include "support/unplaced_error.h"

namespace fulgurite {

namespace {

constexpr size_t alignment = 64;
constexpr size_t huge_page = size_t{2} << 20;
constexpr int steps = 8;  // size classes in each power of two: at most an eighth of a block is unused
constexpr int smallest_power = 9;
constexpr int class_count = (64 - smallest_power) * steps + 8;

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

/// A kept block's first bytes lead to the next one of its class.
struct FreeBlock {
  FreeBlock* next;
};

struct Pool {
  std::mutex mutex;
  FreeBlock* free[class_count] = {};
  AllocatorStatistics statistics;
  int64_t high_water = 0;  // the most bytes in use ever, also after reset_peak_memory()

  void release_kept() {
    for (FreeBlock*& list : free) {
      while (list != nullptr) std::free(std::exchange(list, list->next));
    }
    statistics.kept = 0;
  }
  void took(int64_t bytes) {
    statistics.in_use += bytes;
    statistics.peak_in_use = std::max(statistics.peak_in_use, statistics.in_use);
    high_water = std::max(high_water, statistics.in_use);
  }
};

Pool& pool() {
  static Pool* const one = new Pool;  // never destroyed: tensors may outlive static destructors
  return *one;
}

void* system_allocate(size_t bytes) {
  const bool huge = bytes >= huge_page;
  const size_t unit = huge ? huge_page : alignment;
  void* block = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
  if (block != nullptr && huge) madvise(block, bytes, MADV_HUGEPAGE);
  return block;
}

}  // namespace

void* allocate(size_t bytes) {
  constexpr size_t limit = size_t{1} << 56;
  if (bytes > limit) throw UnplacedError(text::cat("out of memory: ", bytes, " bytes were asked for"));
  const auto [index, size] = size_class(bytes);
  Pool& p = pool();
  const auto size_signed = static_cast<int64_t>(size);
  {
    const std::lock_guard lock(p.mutex);
    p.took(size_signed);
    if (FreeBlock* block = p.free[index]) {
      p.free[index] = block->next;
      p.statistics.kept -= size_signed;
      return block;
    }
    // A program whose sizes keep changing would keep more and more blocks that fit nothing.
    constexpr int64_t slack = int64_t{256} << 20;
    if (p.statistics.in_use + p.statistics.kept > p.high_water + p.high_water / 2 + slack) p.release_kept();
  }
  void* block = system_allocate(size);
  if (block == nullptr) {
    release_kept_memory();
    block = system_allocate(size);
  }
  if (block == nullptr) {
    const std::lock_guard lock(p.mutex);
    p.statistics.in_use -= size_signed;
    throw UnplacedError(text::cat("out of memory: ", bytes, " bytes were asked for, ", p.statistics.in_use, " are in use"));
  }
  return block;
}

void deallocate(void* block, size_t bytes) {
  const auto [index, size] = size_class(bytes);
  Pool& p = pool();
  {
    const std::lock_guard lock(p.mutex);
    p.statistics.in_use -= static_cast<int64_t>(size);
    if (!address_is_sanitized) {
      p.statistics.kept += static_cast<int64_t>(size);
      p.free[index] = new (block) FreeBlock{p.free[index]};
      return;
    }
  }
  std::free(block);
}

AllocatorStatistics allocator_statistics() {
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  return p.statistics;
}

void reset_peak_memory() {
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  p.statistics.peak_in_use = p.statistics.in_use;
}

void release_kept_memory() {
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  p.release_kept();
}

}  // namespace fulgurite
