#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fulgurite/io.h>
#include <fulgurite/source_location.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::training {

// The parts of a training loop around the step: records of numbers, a progress line, early stop, Ctrl-C. The loop
// itself is the program's: examples/trainer.h is one to copy.

/// Writes TensorBoard's event files: `tensorboard --logdir runs` shows the curves. Each event is on its way to the disk
/// when the call returns; several writers may write to one folder.
class EventWriter {
 public:
  /// Begins a file in the folder, which is made if it is missing. UserError where that fails.
  explicit EventWriter(const std::string& folder, SourceLocation at = SourceLocation::here());
  ~EventWriter();
  EventWriter(EventWriter&&) noexcept;
  EventWriter& operator=(EventWriter&&) noexcept;

  /// A point of the curve `tag`, "train/loss".
  void add_scalar(std::string_view tag, double value, int64_t step);
  /// Points of several curves of one chart, "tag/name".
  void add_scalars(std::string_view tag, const std::map<std::string, double>& values, int64_t step);
  /// The distribution of a tensor's elements, in buckets of equal width. UserError if it is undefined or empty, or if
  /// an element is not finite.
  void add_histogram(std::string_view tag, const Tensor& values, int64_t step, int64_t buckets = 64,
                     SourceLocation at = SourceLocation::here());
  /// A text in Markdown.
  void add_text(std::string_view tag, std::string_view text, int64_t step);
  const std::string& path() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A file of numbers by step, one line for each: JSON objects where the path ends in ".jsonl", comma-separated values
/// with a header else. An existing file is continued.
class MetricsFile {
 public:
  /// UserError where the file cannot be written, or for CSV continues columns of other names.
  MetricsFile(const std::string& path, std::vector<std::string> columns, SourceLocation at = SourceLocation::here());
  ~MetricsFile();
  MetricsFile(MetricsFile&&) noexcept;
  MetricsFile& operator=(MetricsFile&&) noexcept;
  /// One number for each column. UserError for another number of them.
  void add(const std::vector<double>& values, SourceLocation at = SourceLocation::here());

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A line on stderr that tells how far a loop is: rewritten in a terminal, a new line every ten seconds elsewhere.
class ProgressLine {
 public:
  explicit ProgressLine(int64_t steps, std::string_view title = "");
  ProgressLine(int64_t steps, std::string_view title, std::ostream& out, bool is_terminal);
  /// Ends the line.
  ~ProgressLine();
  ProgressLine(ProgressLine&&) noexcept;
  ProgressLine& operator=(ProgressLine&&) noexcept;
  /// One more step is done; the note follows the times, "loss 0.31".
  void step(std::string_view note = "");

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Reports when a measure has not become better for `patience` updates.
class EarlyStop {
 public:
  /// Better is lower, or higher if `maximize`, by more than `min_change`. UserError for a patience below 1.
  explicit EarlyStop(int64_t patience, double min_change = 0, bool maximize = false,
                     SourceLocation at = SourceLocation::here());
  /// Returns true if the measure is the best so far. NaN never is.
  bool update(double measure);
  bool stops() const { return since_best_ >= patience_; }
  /// The best measure; NaN before the first update.
  double best() const { return best_; }
  /// To be saved with the model, and continued.
  std::map<std::string, Tensor> state_dict() const;
  void load_state_dict(const std::map<std::string, Tensor>& state, SourceLocation at = SourceLocation::here());

 private:
  int64_t patience_, since_best_ = 0;
  double min_change_, best_;
  bool maximize_;
};

/// Writes several states into one safetensors file, atomically: `save_checkpoint("last.safetensors", {{"model",
/// nn::state_dict(net)}, {"optimizer", optimizer.state_dict()}, {"loader", loader.state_dict()}})`. Tensors are named
/// "model.fc.weight"; the generator that manual_seed() seeds is saved with them. UserError for a part's name with a
/// dot, and as save_safetensors().
void save_checkpoint(const std::string& path, const std::map<std::string, TensorMap>& parts,
                     SourceLocation at = SourceLocation::here());
/// The states of a file of save_checkpoint() by their names; the generator continues where it was. UserError if the
/// file is missing or another one, and for a part in `wanted` that it lacks.
std::map<std::string, TensorMap> load_checkpoint(const std::string& path, const std::vector<std::string>& wanted = {},
                                                 SourceLocation at = SourceLocation::here());

/// While it exists, Ctrl-C (SIGINT) and SIGTERM do not end the process: the loop asks, saves and stops. A second signal
/// ends the process as usual. One exists at a time: UserError for another.
class StopSignal {
 public:
  explicit StopSignal(SourceLocation at = SourceLocation::here());
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  /// True once a signal has come.
  bool requested() const;
};

}  // namespace fulgurite::training
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
