#include "tensor/memory/large_blocks.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "tensor/memory/pages.h"

namespace fulgurite {

namespace {

/// Precedes a block.
struct alignas(64) Header {
  size_t capacity;
};

size_t memory_bytes(size_t capacity) {
  constexpr size_t page = 4096;
  return (capacity + sizeof(Header) + page - 1) / page * page;
}
bool is_mapped(size_t capacity) { return capacity >= huge_page; }
void* block_in(char* memory, size_t capacity) { return new (memory) Header{capacity} + 1; }

}  // namespace

std::vector<LargeBlocks::Kept>::iterator LargeBlocks::first_of(size_t capacity) {
  return std::lower_bound(kept_.begin(), kept_.end(), capacity,
                          [](const Kept& block, size_t c) { return block.capacity < c; });
}

void* LargeBlocks::make(size_t size) {
  const size_t bytes = memory_bytes(size);
  void* const memory = is_mapped(size) ? map_pages(bytes) : std::aligned_alloc(alignof(Header), bytes);
  return memory == nullptr ? nullptr : block_in(static_cast<char*>(memory), size);
}

void* LargeBlocks::take(size_t size) {
  const auto found = first_of(size);
  if (found == kept_.end()) {
    if (kept_.empty() || !is_mapped(kept_.back().capacity)) return nullptr;
    const Kept largest = kept_.back();
    void* const grown = grow_pages(largest.memory, memory_bytes(largest.capacity), memory_bytes(size));
    if (grown == nullptr) return nullptr;
    kept_.pop_back();
    kept_bytes_ -= largest.capacity;
    return block_in(static_cast<char*>(grown), size);
  }
  if (found->capacity / 2 >= size) return nullptr;
  const Kept block = *found;
  kept_.erase(found);
  kept_bytes_ -= block.capacity;
  return block_in(block.memory, block.capacity);
}

void LargeBlocks::put(void* block) {
  Header* const header = static_cast<Header*>(block) - 1;
  const size_t capacity = header->capacity;
  // Among blocks of one capacity, the one freed last is reused first: it may still be in the CPU's cache.
  kept_.insert(first_of(capacity), {reinterpret_cast<char*>(header), capacity, ++time_});
  kept_bytes_ += capacity;
}

void LargeBlocks::release_down_to(size_t bytes) {
  while (kept_bytes_ > bytes) {
    const auto oldest =
        std::min_element(kept_.begin(), kept_.end(), [](const Kept& a, const Kept& b) { return a.time < b.time; });
    if (is_mapped(oldest->capacity)) unmap_pages(oldest->memory, memory_bytes(oldest->capacity));
    else std::free(oldest->memory);
    kept_bytes_ -= oldest->capacity;
    kept_.erase(oldest);
  }
}

}  // namespace fulgurite
