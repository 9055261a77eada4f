#pragma once
#include <cstdint>
#include <span>
#include <utility>

#include "executors/onednn/channel_blocks.h"
#include "executors/onednn/library_objects.h"
#include "tensor/memory/allocator.h"

namespace fulgurite {

/// Memory for an operand in the library's format.
class LibraryBlock {
 public:
  LibraryBlock() = default;
  explicit LibraryBlock(size_t bytes) : bytes_(bytes), data_(bytes > 0 ? allocate(bytes) : nullptr) {}
  ~LibraryBlock() {
    if (data_ != nullptr) deallocate(data_, bytes_);
  }
  LibraryBlock(const LibraryBlock&) = delete;
  LibraryBlock& operator=(const LibraryBlock&) = delete;
  char* data() const { return static_cast<char*>(data_); }

 private:
  size_t bytes_ = 0;
  void* data_ = nullptr;
};

struct LibraryArgument {
  int name;  // DNNL_ARG_…
  const dnnl_memory_desc_t* type;
  void* data;
};

/// A primitive of the library, with separate scratch memory for each run: any number of threads may run it
/// concurrently.
class LibraryOperation {
 public:
  /// Attributes that descriptions of operations need. Returns false if the library refuses.
  static bool set_attributes(AttributeHandle&);
  bool create(dnnl_primitive_desc_t description);
  bool run(std::span<const LibraryArgument>) const;

 private:
  PrimitiveHandle primitive_;
  dnnl_memory_desc_t scratch_ = {};
};

/// An operand in the caller's format and the library's, and the conversion between them.
class LibraryOperand {
 public:
  enum class Use { read, written };

  bool create(const dnnl_memory_desc_t& given, const dnnl_memory_desc_t& wanted, Use);
  /// Both formats are the same: the library may use the caller's memory directly.
  bool is_direct() const { return is_direct_; }
  const dnnl_memory_desc_t& wanted() const { return wanted_; }
  /// Bytes of the wanted format, a multiple of a cache line.
  size_t bytes() const { return (dnnl_memory_desc_get_size(&wanted_) + 63) / 64 * 64; }
  /// From the given memory into the wanted one if the operand is read, else the reverse.
  bool convert(void* given, void* wanted) const;

 private:
  dnnl_memory_desc_t given_ = {}, wanted_ = {};
  bool is_direct_ = false, has_blocks_ = false;
  Use use_ = Use::read;
  ChannelBlocks blocks_;
  LibraryOperation reorder_;
};

}  // namespace fulgurite
