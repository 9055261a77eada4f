#pragma once
#include <string>

namespace fulgurite::cli {

/// The folder of a training run, held by one process: created if missing, locked against a second run, and cleared of
/// the unfinished files of a killed run.
class RunFolder {
 public:
  RunFolder() = default;
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  /// Throws UserError, one line, if the folder cannot be created or another run is training in it.
  void open(const std::string& path);

 private:
  int lock_ = -1;
};

}  // namespace fulgurite::cli
