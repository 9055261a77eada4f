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
  /// The folder and, in it, that of checkpoints, unless its name is empty. Throws UserError, one line, if they cannot
  /// be created or another run is training in the folder.
  void open(const std::string& path, const std::string& checkpoints = "checkpoint");

 private:
  int lock_ = -1;
};

}  // namespace fulgurite::cli
