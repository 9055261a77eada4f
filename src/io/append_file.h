#pragma once
#include <string>
#include <string_view>

namespace fulgurite {

/// A file that grows by complete records: a record that does not fit on the disk is rolled back. Errors are UserErrors
/// naming the file.
class AppendFile {
 public:
  AppendFile() = default;
  ~AppendFile() { close(); }
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;
  void open(std::string path);
  void append(std::string_view text);
  /// Returns once all appended data are on the disk.
  void sync();

 private:
  void close();
  [[noreturn]] void fail(int error) const;
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace fulgurite
