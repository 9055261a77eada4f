#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fulgurite {

/// A cache of blocks for large tensors. Sizes that change from call to call would touch fresh pages at each new size,
/// so a cached block may serve a request of down to half its capacity, and if none is large enough the largest one
/// grows. Not thread-safe, except for make().
class LargeBlocks {
 public:
  static constexpr size_t smallest = size_t{128} << 10;  // sizes are larger than that

  ~LargeBlocks() { release_down_to(0); }
  /// Takes a cached block that fits, or null.
  void* take(size_t size);
  /// A new block, aligned to 64 bytes, or null if the system has none.
  static void* make(size_t size);
  void put(void* block);
  /// Returns the blocks cached longest to the system, until at most `bytes` are cached.
  void release_down_to(size_t bytes);
  size_t kept_bytes() const { return kept_bytes_; }

 private:
  struct Kept {
    char* memory;
    size_t capacity;
    uint64_t time;
  };
  std::vector<Kept>::iterator first_of(size_t capacity);
  std::vector<Kept> kept_;  // by capacity
  size_t kept_bytes_ = 0;
  uint64_t time_ = 0;
};

}  // namespace fulgurite
