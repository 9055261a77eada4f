#pragma once
#include "tensor/memory/allocator.h"

namespace fulgurite {

/// Scratch memory of one call, aligned to 64 bytes.
class ScratchMemory {
 public:
  explicit ScratchMemory(int64_t bytes)
      : bytes_(static_cast<size_t>(bytes)), data_(bytes > 0 ? static_cast<char*>(allocate(bytes_)) : nullptr) {}
  ~ScratchMemory() {
    if (data_) deallocate(data_, bytes_);
  }
  ScratchMemory(const ScratchMemory&) = delete;
  ScratchMemory& operator=(const ScratchMemory&) = delete;
  char* data() const { return data_; }

 private:
  size_t bytes_;
  char* data_;
};

}  // namespace fulgurite
