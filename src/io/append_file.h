#pragma once
#include <string>
#include <string_view>

namespace fulgurite {

/// A file that grows by whole pieces: a piece that does not fit on the disk is taken back. Errors are UserErrors naming the file.
class AppendFile {
 public:
  AppendFile() = default;
  ~AppendFile() { close(); }
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;
  void open(std::string path);
  void append(std::string_view text);
  /// What was appended is on the disk when this returns.
  void sync();

 private:
  void close();
  [[noreturn]] void fail(int error) const;
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace fulgurite
