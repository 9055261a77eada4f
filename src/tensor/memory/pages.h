#pragma once
#include <cstddef>

namespace fulgurite {

constexpr size_t huge_page = size_t{2} << 20;

/// Fresh memory from the system, aligned to huge pages, which are asked for; null where there is none.
void* map_pages(size_t bytes);
void unmap_pages(void* address, size_t bytes);
/// The same memory, moved to where `grown` bytes have room: the pages that were written keep what they cost. Null, and the old
/// block as it was, where the system refuses.
void* grow_pages(void* address, size_t bytes, size_t grown);

}  // namespace fulgurite
