#pragma once
#include <cstddef>

namespace fulgurite {

constexpr size_t huge_page = size_t{2} << 20;

/// Maps fresh memory aligned to huge pages, which are requested; null if there is none.
void* map_pages(size_t bytes);
void unmap_pages(void* address, size_t bytes);
/// Moves the memory to an address with room for `grown` bytes: pages already written stay mapped. Returns null and
/// leaves the old block unchanged if the system refuses.
void* grow_pages(void* address, size_t bytes, size_t grown);

}  // namespace fulgurite
