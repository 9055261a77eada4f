#pragma once
#include <cstdint>
#include <string>

namespace fulgurite::cli {

/// The progress of a run on stderr: on a terminal one line that is rewritten, elsewhere a line now and then.
class Progress {
 public:
  explicit Progress(bool is_silent);
  // An error's message begins on its own line.
  ~Progress() { end_line("\n"); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// `is_due`: a line is written even if there is no terminal.
  void step(int64_t step, int64_t steps, double loss, double tokens_per_second, double seconds_left, bool is_due);
  /// A line of its own.
  void line(const std::string& text);

 private:
  void end_line(const char* end);
  bool is_silent_, is_terminal_, line_is_open_ = false;
};

}  // namespace fulgurite::cli
