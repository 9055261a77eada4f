#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace fulgurite {

/// A file that appears under its name only when it is complete: written beside its place, synced, renamed. Without commit() nothing
/// is left behind. Errors are UserErrors naming the file.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  void write(const void* data, size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();

 private:
  [[noreturn]] void fail(const char* what) const;
  std::string path_, temporary_;
  int descriptor_ = -1;
};

/// Writes a whole file atomically.
void write_file(const std::string& path, std::string_view content);

}  // namespace fulgurite
