#include "tensor/memory/pages.h"

#include <sys/mman.h>

#include <cstdint>

namespace fulgurite {

void* map_pages(size_t bytes) {
  const size_t reserved = bytes + huge_page;
  // Without MAP_NORESERVE, so that the system rejects an impossible request: otherwise it would kill the process at a
  // later write.
  void* const memory = mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  char* const first = static_cast<char*>(memory);
  const size_t before = (huge_page - reinterpret_cast<uintptr_t>(first) % huge_page) % huge_page;
  char* const block = first + before;
  // Sizes are multiples of small pages, and so are the remainders on both sides.
  if (before > 0) munmap(first, before);
  if (before < huge_page) munmap(block + bytes, huge_page - before);
  madvise(block, bytes, MADV_HUGEPAGE);
  return block;
}

void unmap_pages(void* address, size_t bytes) { munmap(address, bytes); }

void* grow_pages(void* address, size_t bytes, size_t grown) {
  void* const place = map_pages(grown);
  if (place == nullptr) return nullptr;
  if (mremap(address, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place) != MAP_FAILED) return place;
  unmap_pages(place, grown);
  return nullptr;
}

}  // namespace fulgurite
