#pragma once
#include <cstdint>
#include <string>

#include "cli/train/loss_plot.h"
#include "io/append_file.h"

namespace fulgurite::cli {

/// A run's metrics.jsonl: a line for each logged training loss and each validation, in order of steps, and the curves they make.
class Metrics {
 public:
  /// Begins an empty file, or goes on after `step`: lines of later steps will be written again and are dropped, and so is a line that
  /// was cut off in the middle of writing.
  void start(const std::string& path);
  void resume(const std::string& path, int64_t step);
  void add_training(int64_t step, double loss, double tokens_per_second);
  void add_validation(int64_t step, double loss, double tokens_per_second);
  /// What was added is on the disk when this returns.
  void sync() { file_.sync(); }
  const Curve& training() const { return training_; }
  const Curve& validation() const { return validation_; }

 private:
  void add(const char* name, Curve& curve, int64_t step, double loss, double tokens_per_second);
  AppendFile file_;
  Curve training_, validation_;
};

}  // namespace fulgurite::cli
