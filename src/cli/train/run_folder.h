#pragma once
#include <string>

namespace fulgurite::cli {

/// The folder of a training run, held by one process: made if it is missing, locked against a second run, and rid of the unfinished
/// files that a killed run left behind.
class RunFolder {
 public:
  RunFolder() = default;
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  /// Throws UserError, one line, when the folder cannot be made or another run is training in it.
  void open(const std::string& path);

 private:
  int lock_ = -1;
};

}  // namespace fulgurite::cli
