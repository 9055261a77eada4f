#pragma once
#include <cstdint>
#include <string>

#include "cli/train/loss_plot.h"
#include "io/append_file.h"

namespace fulgurite::cli {

/// A run's metrics.jsonl: a line for each logged training loss and each validation, in order of steps, and their
/// curves.
class Metrics {
 public:
  /// Starts an empty file, or resumes after `step`: lines of later steps, which will be written again, and a truncated
  /// last line are dropped.
  void start(const std::string& path);
  void resume(const std::string& path, int64_t step);
  void add_training(int64_t step, double loss, double tokens_per_second);
  void add_validation(int64_t step, double loss, double tokens_per_second);
  /// Flushes added lines to the disk.
  void sync() { file_.sync(); }
  const Curve& training() const { return training_; }
  const Curve& validation() const { return validation_; }

 private:
  void add(const char* name, Curve& curve, int64_t step, double loss, double tokens_per_second);
  AppendFile file_;
  Curve training_, validation_;
};

}  // namespace fulgurite::cli
