#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace fulgurite {

/// The bytes of a regular file or of memory, read at any position. Concurrent reads are safe.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  uint64_t size() const { return size_; }
  /// Throws UserError if the bytes no longer exist.
  virtual void read(uint64_t offset, void* to, size_t bytes) const = 0;

 protected:
  uint64_t size_ = 0;
};

/// Throws UserError naming the path if it is missing, unreadable or not a regular file.
std::shared_ptr<const ByteSource> open_file(const std::string& path);
std::shared_ptr<const ByteSource> memory_source(std::span<const std::byte> bytes);

/// Reads a source of many small records in few large reads.
class BufferedReader {
 public:
  explicit BufferedReader(const ByteSource& source) : source_(source) {}
  void read(uint64_t offset, void* to, size_t bytes);

 private:
  const ByteSource& source_;
  std::unique_ptr<char[]> buffer_;
  uint64_t begin_ = 0, end_ = 0;  // the range in the buffer
};

}  // namespace fulgurite
