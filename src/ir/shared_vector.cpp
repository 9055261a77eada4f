#include <fulgurite/detail/shared_vector.h>

#include <cstdlib>
#include <new>

#include <sys/mman.h>

namespace fulgurite::detail {

void* allocate_items(size_t bytes) {
  // The lines of a trace of thousands of operators: in small pages, most of the time would go into looking them up.
  constexpr size_t huge_page = size_t{2} << 20, large = huge_page / 2;
  void* items = nullptr;
  if (bytes >= large) {
    const size_t rounded = (bytes + huge_page - 1) / huge_page * huge_page;
    items = std::aligned_alloc(huge_page, rounded);
    if (items) madvise(items, rounded, MADV_HUGEPAGE);
  } else {
    items = std::malloc(bytes);
  }
  if (!items) throw std::bad_alloc();
  return items;
}

void free_items(void* items) { std::free(items); }

}  // namespace fulgurite::detail
