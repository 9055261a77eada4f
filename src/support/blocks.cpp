#include <fulgurite/detail/blocks.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

#include <pthread.h>
#include <sys/mman.h>

#include "support/base/sanitizers.h"
#include "support/base/spin_lock.h"
#include "support/context.h"

// Defined by leak sanitizers, which must search the arenas for pointers.
extern "C" [[gnu::weak, gnu::visibility("default")]] void __lsan_register_root_region(const void* begin, size_t bytes);

namespace fulgurite::detail {

namespace {

// A trace consists of many small blocks, made together and retained, and a few large ones: the ops of thousands of
// operators fill megabytes, again after each pass. With malloc, most of the time would go into pages: first touches,
// returns and look-ups. So blocks are packed in huge pages and cached when freed. A call's tensors come from here too:
// it does not allocate from the heap.
constexpr size_t huge_page = size_t{2} << 20;
constexpr size_t first_arena = size_t{32} << 20;
constexpr size_t slab_bytes = size_t{64} << 10;  // small blocks of one size share a slab
constexpr size_t largest_small = size_t{4} << 10;
constexpr size_t unit = 16;

/// Multiples of sixteen bytes up to 256, then four sizes in each power of two.
struct SizeClass {
  size_t index, bytes;
};
SizeClass size_class(size_t bytes) {
  if (bytes <= 256) {
    const size_t units = bytes == 0 ? 1 : (bytes + unit - 1) / unit;
    return {units, units * unit};
  }
  const auto power = static_cast<size_t>(std::bit_width(bytes - 1)) - 1;
  const size_t step = (size_t{1} << power) / 4, over = (bytes - 1 - (size_t{1} << power)) / step + 1;
  return {16 + 4 * (power - 8) + over, (size_t{1} << power) + over * step};
}

struct FreeBlock {
  FreeBlock* next;
};
/// Precedes a large block.
struct alignas(unit) Header {
  size_t size_class;
};

}  // namespace

class BlockArenas {
 public:
  SpinLock& lock() { return lock_; }

  void* allocate(size_t bytes) {
    const bool small = bytes <= largest_small;
    const auto [index, size] = size_class(small ? bytes : bytes + sizeof(Header));
    const std::lock_guard lock(lock_);
    if (!free_[index] && !(small ? add_slab(index, size) : add_large(index, size))) return nullptr;
    FreeBlock* const block = free_[index];
    free_[index] = block->next;
    if (small) return block;
    Header* const header = new (static_cast<void*>(block)) Header{index};
    return header + 1;
  }

  /// Returns true if the block belonged to an arena; then it is cached.
  bool free(void* block) {
    const Arena* const arena = region_of(block);
    if (!arena) return false;
    const std::lock_guard lock(lock_);
    size_t index = arena->classes[(reinterpret_cast<uintptr_t>(block) - arena->begin) / slab_bytes];
    if (index == 0) {
      Header* const header = static_cast<Header*>(block) - 1;
      index = header->size_class;
      block = header;
    }
    free_[index] = new (block) FreeBlock{free_[index]};
    return true;
  }

 private:
  struct Arena {
    uintptr_t begin = 0;
    size_t bytes = 0;
    unsigned char* classes = nullptr;  // of the small blocks in each slab; 0 for large ones
  };

  const Arena* region_of(const void* block) const {
    const auto address = reinterpret_cast<uintptr_t>(block);
    const size_t count = count_.load(std::memory_order_acquire);
    for (size_t i = 0; i < count; ++i)
      if (address - arenas_[i].begin < arenas_[i].bytes) return &arenas_[i];
    return nullptr;
  }

  bool add_slab(size_t index, size_t size) {
    char* const slab = carve(slab_bytes);
    if (!slab) return false;
    const Arena& arena = arenas_[count_.load(std::memory_order_relaxed) - 1];
    arena.classes[(reinterpret_cast<uintptr_t>(slab) - arena.begin) / slab_bytes] = static_cast<unsigned char>(index);
    // Blocks are handed out in address order.
    for (size_t at = slab_bytes / size; at-- > 0;) free_[index] = new (slab + at * size) FreeBlock{free_[index]};
    return true;
  }
  bool add_large(size_t index, size_t size) {
    char* const block = carve((size + slab_bytes - 1) / slab_bytes * slab_bytes);
    if (block) free_[index] = new (block) FreeBlock{nullptr};
    return block != nullptr;
  }

  char* carve(size_t bytes) {
    if (left_ < bytes && !add_arena(bytes)) return nullptr;
    left_ -= bytes;
    return std::exchange(next_, next_ + bytes);
  }

  // Each arena is twice as large as the one before, so that searches pass few of them.
  bool add_arena(size_t least) {
    const size_t count = count_.load(std::memory_order_relaxed);
    if (count == arenas_.size()) return false;
    size_t bytes = first_arena << count;
    while (bytes < least) bytes *= 2;
    void* const memory =
        mmap(nullptr, bytes + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    void* const classes = std::calloc(bytes / slab_bytes, 1);
    if (memory == MAP_FAILED || !classes) return false;
    const uintptr_t begin = (reinterpret_cast<uintptr_t>(memory) + huge_page - 1) / huge_page * huge_page;
    madvise(reinterpret_cast<void*>(begin), bytes, MADV_HUGEPAGE);
    if (__lsan_register_root_region) __lsan_register_root_region(reinterpret_cast<void*>(begin), bytes);
    arenas_[count] = {begin, bytes, static_cast<unsigned char*>(classes)};
    count_.store(count + 1, std::memory_order_release);
    next_ = reinterpret_cast<char*>(begin);
    left_ = bytes;
    return true;
  }

  SpinLock lock_;  // held for a few instructions, except when adding an arena
  std::array<FreeBlock*, 256> free_{};
  std::array<Arena, 20> arenas_;
  std::atomic<size_t> count_ = 0;
  char* next_ = nullptr;
  size_t left_ = 0;
};

namespace {

BlockArenas& arenas();

/// A child of fork() must not inherit the lock held by a thread that it does not have.
BlockArenas* make_arenas() {
  pthread_atfork([] { arenas().lock().lock(); }, [] { arenas().lock().unlock(); }, [] { arenas().lock().unlock(); });
  return new BlockArenas;
}

BlockArenas& arenas() { return context().blocks.get(make_arenas); }

}  // namespace

void* allocate_block(size_t bytes) {
  void* block = address_is_sanitized ? nullptr : arenas().allocate(bytes);
  if (!block) block = std::malloc(bytes);
  if (!block) throw std::bad_alloc();
  return block;
}

void free_block(void* block) {
  if (!block) return;
  if (address_is_sanitized || !arenas().free(block)) std::free(block);
}

}  // namespace fulgurite::detail
