#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace fulgurite {

/// A file that appears under its name only when it is complete: written to a temporary file beside it, synced, renamed.
/// Without commit() nothing is left behind. Any number of threads and processes may write to one path: each has its own
/// temporary file, and the last commit wins. A symbolic link is kept and its target replaced; the mode and the owner of
/// a replaced file are kept. Pipes, devices and folders are rejected. Errors are UserErrors naming the file.
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
  void create_temporary();
  void keep_mode_of_target();
  [[noreturn]] void fail(std::string_view reason) const;
  std::string path_, target_, temporary_;  // as given, behind symbolic links, beside the target
  int descriptor_ = -1;
};

/// Writes a complete file atomically.
void write_file(const std::string& path, std::string_view content);

}  // namespace fulgurite
