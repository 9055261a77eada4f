#include "io/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fulgurite/error.h>

#include "io/file_kind.h"
#include "support/text/text.h"

namespace fulgurite {

namespace {

constexpr size_t buffer_bytes = 1 << 20;

class File : public ByteSource {
 public:
  explicit File(const std::string& path) {
    // Without O_NONBLOCK, opening a pipe without a writer would block.
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor_ < 0) throw UserError(text::cat("cannot read ", path, ": ", std::strerror(errno)));
    struct stat status;
    const bool known = ::fstat(descriptor_, &status) == 0;
    if (known && S_ISREG(status.st_mode)) {
      size_ = static_cast<uint64_t>(status.st_size);
      return;
    }
    ::close(descriptor_);
    throw UserError(text::cat("cannot read ", path, ": it is ", known ? kind_of_file(status.st_mode) : "unknown",
                              ", not a regular file"));
  }
  ~File() override { ::close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void read(uint64_t offset, void* to, size_t bytes) const override {
    char* next = static_cast<char*>(to);
    while (bytes > 0) {
      const ssize_t got = ::pread(descriptor_, next, bytes, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw UserError(text::cat("the read failed: ", std::strerror(errno)));
      if (got == 0) throw UserError("the file was cut short while it was read");
      next += got;
      offset += static_cast<uint64_t>(got);
      bytes -= static_cast<size_t>(got);
    }
  }

 private:
  int descriptor_ = -1;
};

class Memory : public ByteSource {
 public:
  explicit Memory(std::span<const std::byte> bytes) : data_(bytes.data()) { size_ = bytes.size(); }
  void read(uint64_t offset, void* to, size_t bytes) const override {
    if (bytes > 0) std::memcpy(to, data_ + offset, bytes);
  }

 private:
  const std::byte* data_;
};

}  // namespace

std::shared_ptr<const ByteSource> open_file(const std::string& path) { return std::make_shared<File>(path); }
std::shared_ptr<const ByteSource> memory_source(std::span<const std::byte> bytes) {
  return std::make_shared<Memory>(bytes);
}

void BufferedReader::read(uint64_t offset, void* to, size_t bytes) {
  if (bytes >= buffer_bytes) return source_.read(offset, to, bytes);
  if (offset < begin_ || offset + bytes > end_) {
    if (!buffer_) buffer_ = std::make_unique<char[]>(buffer_bytes);
    const auto length = static_cast<size_t>(std::min<uint64_t>(buffer_bytes, source_.size() - offset));
    end_ = 0;
    source_.read(offset, buffer_.get(), length);
    begin_ = offset;
    end_ = offset + length;
  }
  if (bytes > 0) std::memcpy(to, buffer_.get() + (offset - begin_), bytes);
}

}  // namespace fulgurite
